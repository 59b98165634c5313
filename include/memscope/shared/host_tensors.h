/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Storages of PyTorch's host tensors: what the BPF programs know of each storage, of each stack and of each address
 * space. Included by both sides, as wire.h is.
 */
#ifndef MEMSCOPE_SHARED_HOST_TENSORS_H
#define MEMSCOPE_SHARED_HOST_TENSORS_H

#include <memscope/shared/wire.h>

/* Maximum number of live storages of all processes. A storage beyond it is counted as a loss and is in no sum. */
#define MS_HOST_STORAGES (1u << 19)
#define MS_HOST_ACCOUNTS 16384
#define MS_HOST_SITES 16384
#define MS_HOST_CALLS 16384 /* each site has one entry, and several sites can share an entry */

/* Functions of c10::ProfiledCPUMemoryReporter. Each has one BPF program at its entry. */
enum ms_host_tensor_call { MS_HOST_NEW, MS_HOST_DELETE, MS_HOST_OUT_OF_MEMORY, MS_HOST_CALL_COUNT };

/* A period of the recording ends at a pause, or when probes were lost. Frees between two periods are missed, so the
 * storages of earlier periods are forgotten. */
struct ms_host_account_key {
    __u64 space; /* ms_space.id */
    __u32 period;
    __u32 pad;
};
MS_LAYOUT(ms_host_account_key, 16);

/* Storages of one address space, in the map `host_accounts`. */
struct ms_host_account {
    __u64 start_ns; /* of the process */
    __s64 bytes;    /* live; the sum over the sites of the address space, and of storages without a stack */
    __s64 storages;
    __u64 lost_bytes;   /* sum of all storages that found the map full */
    __u64 failures;     /* storages that PyTorch could not allocate */
    __u64 failed_bytes; /* requested by the last one, if no storage of at least that size was allocated since; else 0 */
    __u32 pid;
    __u32 pad;
};
MS_LAYOUT(ms_host_account, 56);

/* Key in the map `host_storages`. */
struct ms_host_storage_key {
    struct ms_host_account_key account;
    __u64 address;
};
MS_LAYOUT(ms_host_storage_key, 24);

struct ms_host_storage {
    __u64 bytes;
    __u64 stack; /* MS_STACK_OTHER: none */
};
MS_LAYOUT(ms_host_storage, 16);

/* Key in the map `host_sites`. */
struct ms_host_site_key {
    struct ms_host_account_key account;
    __u64 stack;
};
MS_LAYOUT(ms_host_site_key, 24);

/* Storages of one stack. */
struct ms_host_site {
    __s64 bytes; /* live */
    __u64 calls; /* hash of its Python calls, as in the key of `host_calls` */
};
MS_LAYOUT(ms_host_site, 16);

/* Key in the map `host_calls`. */
struct ms_host_calls_key {
    struct ms_host_account_key account;
    __u64 calls; /* a hash of the Python calls of a stack; the stack itself if it has none */
};
MS_LAYOUT(ms_host_calls_key, 24);

/* Frees between two readings of the collector. */
struct ms_host_frees {
    __s64 low;     /* the lowest value of live bytes right after a free */
    __s64 high;    /* the highest value of live bytes right before a free */
    __s64 fall;    /* the largest fall from `high` so far to the live bytes right after a free */
    __u32 reading; /* 0: nothing was freed so far */
    __u32 pad;
};
MS_LAYOUT(ms_host_frees, 32);

/* Storages of all stacks with the same Python calls. The native stacks of libraries without frame pointers are partly
 * random, so one line of Python can have a different stack at each step. */
struct ms_host_calls {
    __s64 bytes;                   /* live; the sum over these stacks */
    struct ms_host_frees frees[2]; /* even and odd readings: the collector reads one while the other is written */
};
MS_LAYOUT(ms_host_calls, 72);

#endif
