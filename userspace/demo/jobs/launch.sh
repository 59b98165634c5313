#!/bin/sh
# The launcher of the job: starts it and waits for its end.
"$PYTHON" train.py
exit $?
