#!/bin/sh
# Epilog of slurmd (root, after each job): if a process of the job died, writes the sentence with the cause into the
# comment of the job, which the owner of the job can read: sacct -j JOB -o AdminComment. It never fails, because that would drain
# the node.
# slurm.conf: Epilog=/etc/slurm/epilog.d/*
reports=${MEMSCOPE_REPORTS:-/var/lib/memscope}
case ${SLURM_JOB_ID:-} in '' | *[!0-9]*) exit 0 ;; esac

# The newest report about this job: sorting by name sorts by time. Slurm reuses job ids after years, so only reports of
# the last day count.
report=$(find "$reports" -maxdepth 2 -type f -mtime -1 -name "death-*[-_]job_${SLURM_JOB_ID}[-_]*.json" 2>/dev/null | sort | tail -n 1)
[ -n "$report" ] || exit 0
# The first paragraph, as plain text, because the job can choose the names of its processes.
why=$(memscope report "$report" 2>/dev/null | awk 'NF == 0 { exit } { printf "%s%s", n++ ? " " : "", $0 }' | tr -cd '[:print:]' | cut -c 1-400)
[ -n "$why" ] || exit 0
logger -t memscope "job $SLURM_JOB_ID: $why"
scontrol update "JobId=$SLURM_JOB_ID" "AdminComment=$why" >/dev/null 2>&1
exit 0
