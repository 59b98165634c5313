#!/bin/sh
# Prolog of slurmd (root, before each job): logs a line if memscope does not watch this node. It never fails, because that
# would drain the node.
# slurm.conf: Prolog=/etc/slurm/prolog.d/*
say() { logger -t memscope "job ${SLURM_JOB_ID:-?} starts on a node $1"; }
if ! command -v curl >/dev/null; then
    say "without curl: whether memscope watches it is not known"
    exit 0
fi
curl -fsS --max-time 2 "http://127.0.0.1:${MEMSCOPE_PORT:-9750}/-/healthy" >/dev/null 2>&1 ||
    say "that memscope does not watch"
exit 0
