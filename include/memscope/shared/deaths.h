/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What is known of the end of a process: kept in the kernel while it lives, sent in one record when it ends. */
#ifndef MEMSCOPE_SHARED_DEATHS_H
#define MEMSCOPE_SHARED_DEATHS_H

#include <memscope/shared/wire.h>

/* Processes that something may be known of at one time: those that were sent a signal of the fatal kind. */
#define MS_LAST_WORDS 8192
/* The last part of a path; longer ones are cut off. */
#define MS_NAME_BYTES 64
/* An allocation that failed explains an exit in failure for so long. */
#define MS_FAILURE_EXPLAINS_NS 5000000000ull

#define MS_SENT_BY_KERNEL 1u   /* of its own accord; else by who was running then */
#define MS_SENT_AT_EXIT 2u     /* who was running then was ending itself: what it leaves behind is killed with it */
#define MS_SENT_WITH_VICTIM 4u /* by the OOM killer, to a process that shares the memory of its victim */

struct ms_sent_signal {
    __u64 time_ns;       /* boot clock */
    __u64 sender_target; /* the innermost watched cgroup around the sender, 0: none */
    __u32 sender;        /* the process that was running then */
    __u32 number;        /* 0: no such signal was seen */
    __s32 code;          /* si_code */
    __u32 flags;         /* MS_SENT_... */
    char comm[MS_COMM_BYTES];
};
MS_LAYOUT(ms_sent_signal, 48);

#define MS_OOM_WHOLE_CGROUP 1u /* memory.oom.group of a cgroup around the victim */

/* The OOM killer's choice, or what it looked like when the kernel sent a SIGKILL of its own accord. Limit and usage are
 * those of the innermost cgroup around the victim that was full just then and has been out of memory; there is none
 * when it was the machine that was short. */
struct ms_oom_mark {
    __u64 time_ns; /* 0: it was not marked, or not yet when it ended */
    __u64 cgroup;  /* the victim's own */
    __u64 owner;   /* 0: none was full */
    __u64 limit_pages;
    __u64 usage_pages;
    __s64 anon_pages; /* of the victim */
    __u32 thread;     /* that was named: not always the first one */
    __u32 trigger;    /* the process that asked for memory, 0: nothing is known */
    __u32 flags;      /* MS_OOM_... */
    __u32 pad;
    char trigger_comm[MS_COMM_BYTES];
    char cgroup_name[MS_NAME_BYTES];
    char owner_name[MS_NAME_BYTES];
};
MS_LAYOUT(ms_oom_mark, 208);

/* A mapped file that the kernel could not give memory for. */
struct ms_full_file {
    __u64 magic;  /* of its file system, 0: no file is known */
    __u32 device; /* of its file system, as the kernel counts: 12 bits and 20 */
    __u32 pad;
    char name[MS_NAME_BYTES];
};
MS_LAYOUT(ms_full_file, 80);

struct ms_last_words {
    __u64 start_ns;              /* of the process */
    struct ms_sent_signal kill;  /* the first SIGKILL: what comes after it changes nothing */
    struct ms_sent_signal other; /* the last of the others; one that the process sends itself again does not count */
    struct ms_oom_mark oom;
    struct ms_full_file bus; /* of the last SIGBUS */
};
MS_LAYOUT(ms_last_words, 392);

/* The last call that failed for want of memory, if nothing as large was had since. */
struct ms_failure {
    __u64 time_ns; /* 0: none */
    __u64 bytes;   /* that were asked for; 0 for fork */
    __u64 magic;   /* of the file system (fallocate), else 0 */
    __u32 device;
    __u16 call;   /* enum ms_failed_call */
    __u16 reason; /* enum ms_failure_reason */
};
MS_LAYOUT(ms_failure, 32);

/* The last of its allocations that the CUDA driver refused for want of memory, if nothing as large was had since. */
#define MS_GPU_FAILURES 1024
struct ms_gpu_failure {
    __u64 time_ns;    /* 0: none */
    __u64 bytes;      /* that were asked for */
    __u64 held_bytes; /* of the device, by calls of the process, when this one failed */
    __s32 device;     /* as the process counts them; -1: not known */
    __u32 kind;       /* enum ms_gpu_kind */
    __u32 has_uuid;
    __u32 pad;
    __u8 uuid[16]; /* of the device */
};
MS_LAYOUT(ms_gpu_failure, 56);

/* Of a process that was ended by a signal, or in failure after an allocation had failed. */
#define MS_EVENT_DEATH 128
struct ms_death {
    struct ms_header h;
    char comm[MS_COMM_BYTES];
    __s32 exit_code; /* as wait() has it */
    __u32 parent;
    struct ms_failure failure;
    struct ms_last_words words;
    struct ms_gpu_failure gpu_failure;
};
MS_LAYOUT(ms_death, 536);

#endif
