/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The calls of the CUDA driver that are followed, and the accounts that the BPF programs keep of them. Included by both
 * sides, as wire.h is.
 */
#ifndef MEMSCOPE_SHARED_CUDA_H
#define MEMSCOPE_SHARED_CUDA_H

#include <memscope/shared/wire.h>

/* Maximum number of live allocations of all processes. An allocation beyond it is counted as a loss and is in no
 * sum. */
#define MS_CUDA_LIVE (1u << 20)
#define MS_CUDA_ACCOUNTS 16384
#define MS_CUDA_SITES 16384
/* The device is not known, because the process started before memscope. */
#define MS_CUDA_NO_DEVICE (-1)
#define MS_CUDA_DEVICES 64 /* of one process; devices beyond count as MS_CUDA_NO_DEVICE */
#define MS_CUDA_UUID_BYTES 16

/* Each call has one BPF program at its entry. Driver functions with the same effect share a call, for instance
 * cuMemFree and cuMemFreeAsync. */
#define MS_CUDA_CALLS(X)                                            \
    X(ALLOC, alloc)                                                 \
    X(ALLOC_PITCH, alloc_pitch)                                     \
    X(ALLOC_MANAGED, alloc_managed)                                 \
    X(ALLOC_ASYNC, alloc_async) /* from a pool, given or default */ \
    X(FREE, free)               /* and cuMemFreeAsync */            \
    X(CREATE, create)                                               \
    X(RELEASE, release)                                             \
    X(RETAIN, retain) /* retain or import of a handle */            \
    X(MAP, map)                                                     \
    X(UNMAP, unmap)                                                 \
    X(HOST_ALLOC, host_alloc)                                       \
    X(HOST_FREE, host_free)                                         \
    X(HOST_REGISTER, host_register)                                 \
    X(HOST_UNREGISTER, host_unregister)                             \
    X(PRIMARY_RETAIN, primary_retain)                               \
    X(PRIMARY_RELEASE, primary_release)                             \
    X(PRIMARY_RESET, primary_reset)                                 \
    X(CREATE_CONTEXT, create_context)                               \
    X(CREATE_CONTEXT_3, create_context_3)                           \
    X(CREATE_CONTEXT_4, create_context_4)                           \
    X(DESTROY_CONTEXT, destroy_context)                             \
    X(SET_CONTEXT, set_context)                                     \
    X(PUSH_CONTEXT, push_context)                                   \
    X(POP_CONTEXT, pop_context)                                     \
    X(GET_UUID, get_uuid)
/* clang-format off */
#define X(name, program) MS_CUDA_##name,
enum ms_cuda_call { MS_CUDA_CALLS(X) MS_CUDA_CALL_COUNT };
#undef X
/* clang-format on */

/* CUDA_ERROR_OUT_OF_MEMORY */
#define MS_CUDA_OUT_OF_MEMORY 2

/* Kinds of memory: first those of device memory in the order of enum CudaApi, then those of pinned host memory in the
 * order of enum PinnedKind. */
enum ms_cuda_kind {
    MS_CUDA_KIND_ALLOC,
    MS_CUDA_KIND_VMM,
    MS_CUDA_KIND_POOL,
    MS_CUDA_KIND_MANAGED,
    MS_CUDA_KIND_PINNED_ALLOC,
    MS_CUDA_KIND_PINNED_REGISTER,
    MS_CUDA_KIND_COUNT,
    MS_CUDA_DEVICE_KINDS = MS_CUDA_KIND_PINNED_ALLOC,
};

/* A process that has called the driver, by pid in the map `cuda_processes`. After an exec it gets a new id. */
struct ms_cuda_process {
    __u64 id;
    __u64 start_ns;
    __s32 device; /* of its first context */
    __u32 several_devices;
};
MS_LAYOUT(ms_cuda_process, 24);

struct ms_cuda_account_key {
    __u64 process; /* ms_cuda_process.id */
    __u32 pid;
    __s32 device; /* number of the device in the process */
};
MS_LAYOUT(ms_cuda_account_key, 16);

/* Memory that one process holds on one device. When the last context of the process there ends, all this memory is
 * freed at once and a new generation begins. */
struct ms_cuda_account {
    __u64 start_ns; /* of the process */
    __u64 generation;
    __s64 bytes[MS_CUDA_KIND_COUNT];
    __s64 live;         /* allocations and handles */
    __u64 failures;     /* of allocations, because memory was short */
    __u64 failed_bytes; /* requested by the last failed allocation */
    __u64 lost_bytes;   /* sum of all allocations that found cuda_live full */
    __s32 retains;      /* of the primary context */
    __s32 contexts;     /* contexts other than the primary context */
    __u32 has_uuid;
    __u32 pad;
    __u8 uuid[MS_CUDA_UUID_BYTES];
};
MS_LAYOUT(ms_cuda_account, 128);

/* Addresses of different classes can be equal and mean different things. */
enum ms_cuda_class { MS_CUDA_OF_DEVICE, MS_CUDA_OF_HOST, MS_CUDA_MAPPED, MS_CUDA_HANDLE };

struct ms_cuda_live_key {
    __u64 process;
    __u64 address; /* or value of the handle */
    __u32 pid;
    __u32 kind_of_address; /* enum ms_cuda_class */
};
MS_LAYOUT(ms_cuda_live_key, 24);

/* Memory made by cuMemCreate lives until its handle has neither a reference nor a mapping left. References and mappings
 * are counted in one word, so that the thread that drops the last one sees that none of either kind is left. */
#define MS_CUDA_REFERENCE (1ull << 32)
#define MS_CUDA_MAPPING 1ull

struct ms_cuda_live {
    __u64 bytes;
    __u64 stack; /* MS_STACK_OTHER: none */
    __u64 generation;
    __u64 uses;       /* of a handle: MS_CUDA_REFERENCE for each reference, MS_CUDA_MAPPING for each mapping */
    __u64 handle;     /* of a mapping: the handle whose memory is mapped */
    __u64 created_ns; /* of a handle and of its mappings, because the driver can reuse the value of a handle */
    __s32 device;
    __u32 kind; /* enum ms_cuda_kind */
};
MS_LAYOUT(ms_cuda_live, 56);

struct ms_cuda_site_key {
    __u64 process;
    __u64 stack;
    __u64 generation;
    __u32 pid;
    __s32 device;
    __u32 kind;
    __u32 pad;
};
MS_LAYOUT(ms_cuda_site_key, 40);

#endif
