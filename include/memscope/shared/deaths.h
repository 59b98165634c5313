/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The evidence for the death of a process: kept in the kernel while the process lives, sent in one record when it
 * exits. */
#ifndef MEMSCOPE_SHARED_DEATHS_H
#define MEMSCOPE_SHARED_DEATHS_H

#include <memscope/shared/wire.h>

/* Maximum number of processes at one time that were sent a fatal signal and have not exited yet. */
#define MS_DEATH_EVIDENCE_ENTRIES 8192
/* Size of the last component of a path; a longer name is truncated. */
#define MS_NAME_BYTES 64
/* A failed allocation explains an exit with an error status that follows within this time. */
#define MS_FAILURE_EXPLAINS_NS 5000000000ull

#define MS_SENT_BY_KERNEL 1u   /* sent by the kernel itself, not by the process that was running */
#define MS_SENT_AT_EXIT 2u     /* the sender was exiting: the kernel kills processes that it leaves behind */
#define MS_SENT_WITH_VICTIM 4u /* sent by the OOM killer to a process that shares the memory of its victim */

struct ms_sent_signal {
    __u64 time_ns;       /* boot clock */
    __u64 sender_target; /* the innermost watched cgroup around the sender, 0: none */
    __u32 sender;        /* the process that was running when the signal was sent */
    __u32 number;        /* signal number; 0: no such signal was seen */
    __s32 code;          /* si_code */
    __u32 flags;         /* MS_SENT_... */
    char comm[MS_COMM_BYTES];
};
MS_LAYOUT(ms_sent_signal, 48);

#define MS_OOM_WHOLE_CGROUP 1u /* memory.oom.group of a cgroup around the victim */

/* The mark of the OOM killer, or the state of the limits when the kernel itself sent a SIGKILL. Limit and usage are
 * those of the innermost cgroup of the victim that was full at that moment and has had an out-of-memory event. There is
 * none if the host was out of memory. */
struct ms_oom_mark {
    __u64 time_ns; /* 0: the process was not marked, or exited before it was */
    __u64 cgroup;  /* cgroup of the victim */
    __u64 owner;   /* the full cgroup; 0: none was full */
    __u64 limit_pages;
    __u64 usage_pages;
    __s64 anon_pages; /* of the victim */
    __u32 thread;     /* the thread that the OOM killer marked, not always the first thread */
    __u32 trigger;    /* the process that asked for memory; 0: not known */
    __u32 flags;      /* MS_OOM_... */
    __u32 pad;
    char trigger_comm[MS_COMM_BYTES];
    char cgroup_name[MS_NAME_BYTES];
    char owner_name[MS_NAME_BYTES];
};
MS_LAYOUT(ms_oom_mark, 208);

/* A mapped file for which the kernel had no memory. */
struct ms_full_file {
    __u64 magic;  /* of its file system; 0: no file is known */
    __u32 device; /* of its file system, in the kernel's encoding: 12 bits major, 20 bits minor */
    __u32 pad;
    char name[MS_NAME_BYTES];
};
MS_LAYOUT(ms_full_file, 80);

struct ms_death_evidence {
    __u64 start_ns;              /* of the process */
    struct ms_sent_signal kill;  /* the first SIGKILL; a later SIGKILL changes nothing */
    struct ms_sent_signal other; /* the last other fatal signal; not replaced if its handler raises it again */
    struct ms_oom_mark oom;
    struct ms_full_file bus; /* of the last SIGBUS */
};
MS_LAYOUT(ms_death_evidence, 392);

/* The last call that failed because memory was short, if no call for at least that size succeeded since. */
struct ms_failure {
    __u64 time_ns; /* 0: none */
    __u64 bytes;   /* requested; 0 for fork */
    __u64 magic;   /* of the file system (fallocate), else 0 */
    __u32 device;
    __u16 call;   /* enum ms_failed_call */
    __u16 reason; /* enum ms_failure_reason */
};
MS_LAYOUT(ms_failure, 32);

/* The last allocation of the process that the CUDA driver refused as out of memory, if no allocation of at least that
 * size succeeded since. */
#define MS_CUDA_FAILURES 1024
struct ms_cuda_failure {
    __u64 time_ns;    /* 0: none */
    __u64 bytes;      /* requested */
    __u64 held_bytes; /* held by the process on the device at the time of the failure, from the calls that were seen */
    __s32 device;     /* number of the device in the process; -1: not known */
    __u32 kind;       /* enum ms_cuda_kind */
    __u32 has_uuid;
    __u32 pad;
    __u8 uuid[16]; /* of the device */
};
MS_LAYOUT(ms_cuda_failure, 56);

/* The last storage of a host tensor that PyTorch could not allocate, if no storage of at least that size was allocated
 * since. */
#define MS_HOST_FAILURES 1024
struct ms_host_failure {
    __u64 time_ns; /* 0: none */
    __u64 bytes;   /* requested */
};
MS_LAYOUT(ms_host_failure, 16);

/* Sent for a process that was killed by a signal, or that exited with an error status after a failed allocation. */
#define MS_EVENT_DEATH 128
struct ms_death {
    struct ms_header h;
    char comm[MS_COMM_BYTES];
    __s32 exit_code; /* as wait() returns it */
    __u32 parent;
    struct ms_failure failure;
    struct ms_death_evidence evidence;
    struct ms_cuda_failure cuda_failure;
    struct ms_host_failure host_failure;
};
MS_LAYOUT(ms_death, 552);

#endif
