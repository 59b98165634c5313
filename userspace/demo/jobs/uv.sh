#!/bin/sh
# Stands for uv: it starts a shell script, which starts the job.
/bin/sh ./run.sh
exit $?
