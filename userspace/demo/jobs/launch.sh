#!/bin/sh
# The launcher of the job: starts it and waits for its end.
LAUNCHER=$$ "$PYTHON" train.py
exit $?
