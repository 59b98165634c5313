#!/bin/sh
# The launcher of the job: starts it again whenever it dies, as many clusters do.
while :; do
    LAUNCHER=$$ "$PYTHON" train.py
done
