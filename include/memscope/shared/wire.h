/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The records that pass between the BPF programs and the collector. There is one definition, which both sides include.
 * Every byte is named, and every size is asserted in both languages.
 */
#ifndef MEMSCOPE_SHARED_WIRE_H
#define MEMSCOPE_SHARED_WIRE_H

#include <linux/types.h>

#ifdef __cplusplus
#define MS_LAYOUT(type, bytes) static_assert(sizeof(struct type) == (bytes), #type " has another size")
#else
#define MS_LAYOUT(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type " has another size")
#endif

#define MS_COMM_BYTES 16
/* Enough for an interpreter, a module path and the first arguments. A longer command line is read from /proc while the
 * process lives. */
#define MS_ARGV_BYTES 256
/* Number of cgroup ancestors that are searched for a target, and number of threads of one process that are summed.
 * Beyond that a loss is counted. */
#define MS_CGROUP_DEPTH 64
#define MS_THREADS_SUMMED (1 << 16)
#define MS_THREADS_SUMMED_BOUNDED 512 /* on kernels without bpf_loop(): each thread costs the verifier 240 steps */
/* Limits of the quick scan. With more processes than MS_SCAN_ROWS the slow scan runs as well. With more threads than
 * MS_SCAN_THREADS the processes take turns, because a thread costs 0.2 us and the scan holds the RCU lock. */
#define MS_SCAN_ROWS 8192
#define MS_SCAN_THREADS 512
/* Threads of all targets that can be stalled in reclaim at one time. */
#define MS_STALLED_THREADS 4096

/* Each kind of loss has its own counter. X(SLOT, word that is used as a metric label) */
#define MS_LOSSES(X)                                                                                                   \
    X(RING_FULL, "ring_full")                       /* an event was dropped: the collector did not read fast enough */ \
    X(CGROUP_TOO_DEEP, "cgroup_too_deep")           /* membership undecided after MS_CGROUP_DEPTH ancestors */         \
    X(THREADS_TRUNCATED, "threads_truncated")       /* faults of threads beyond MS_THREADS_SUMMED were not summed */   \
    X(MAPPINGS_FULL, "mappings_full")               /* no free entry in the map of mapped bytes */                     \
    X(MAPPINGS_TORN, "mappings_torn")               /* mapped bytes changed in each attempt to read them */            \
    X(MEMBERS_FULL, "members_full")                 /* no free entry in the map of followed processes */               \
    X(SPACES_FULL, "spaces_full")                   /* no free entry in the map of growing processes */                \
    X(STACKS_FULL, "stacks_full")                   /* a stack or a name was dropped: its ring buffer was full */      \
    X(PYTHON_UNREADABLE, "python_unreadable")       /* a Python stack or name could not be read */                     \
    X(RANGES_FULL, "ranges_full")                   /* a range event was dropped; /proc/PID/maps is read instead */    \
    X(STALLS_FULL, "stalls_full")                   /* no free entry in the map of stalled threads */                  \
    X(DEATHS_FULL, "deaths_full")                   /* a death was dropped: its ring buffer was full */                \
    X(LAST_WORDS_FULL, "last_words_full")           /* the sender of a fatal signal is lost: the map was full */       \
    X(GPU_LIVE_FULL, "gpu_live_full")               /* no free entry in the map of live CUDA allocations */            \
    X(GPU_ACCOUNTS_FULL, "gpu_accounts_full")       /* no free entry in the map of processes that call CUDA */         \
    X(GPU_SITES_FULL, "gpu_sites_full")             /* a CUDA allocation has no stack: map full, or scratch in use */  \
    X(GPU_CALLS_FULL, "gpu_calls_full")             /* no free entry in the map of pending CUDA calls */               \
    X(GPU_UNREADABLE, "gpu_unreadable")             /* the result of a call of the CUDA driver could not be read */    \
    X(GPU_UNMAP_CUT, "gpu_unmap_cut")               /* an unmapped range had too many mappings for one call */         \
    X(TENSORS_FULL, "tensors_full")                 /* no free entry in the map of live tensors */                     \
    X(TENSOR_ACCOUNTS_FULL, "tensor_accounts_full") /* no free entry in the map of processes with tensors */           \
    X(TENSOR_UNREADABLE, "tensor_unreadable")       /* an argument of a PyTorch probe could not be read */             \
    X(HOST_TENSORS_FULL, "host_tensors_full")       /* no free entry in the map of live host storages */               \
    X(HOST_ACCOUNTS_FULL, "host_accounts_full")     /* no free entry in the map of processes with host storages */     \
    X(HOST_SITES_FULL, "host_sites_full")           /* a host storage has no stack: map full, or scratch in use */

enum ms_loss {
#define X(slot, word) MS_LOSS_##slot,
    MS_LOSSES(X)
#undef X
        MS_LOSS_COUNT
};

enum ms_event_kind {
    MS_EVENT_FORK = 1,
    MS_EVENT_EXEC = 2,
    MS_EVENT_EXIT = 3,
    MS_EVENT_MOVE = 4,
    MS_EVENT_CGROUPS_CHANGED = 5,
    MS_EVENT_LIBRARY_MAPPED =
        6, /* only the header: a process has mapped libcuda.so..., libc10_cuda.so... or libc10.so... */
};

struct ms_header {
    __u64 time_ns;  /* boot clock */
    __u64 start_ns; /* boot clock; pid and start_ns identify a process */
    __u64 target;   /* id of the innermost watched cgroup around the process, 0: none */
    __u32 pid;      /* in the initial PID namespace */
    __u16 kind;     /* enum ms_event_kind */
    __u16 size;     /* of the whole record */
};
MS_LAYOUT(ms_header, 32);

/* MS_EVENT_FORK, MS_EVENT_MOVE */
struct ms_placed {
    struct ms_header h;
    __u32 parent;
    __u32 pad;
    char comm[MS_COMM_BYTES];
};
MS_LAYOUT(ms_placed, 56);

struct ms_exec {
    struct ms_header h;
    char comm[MS_COMM_BYTES];
    __u32 argv_bytes; /* used bytes of argv */
    __u32 pad;
    char argv[MS_ARGV_BYTES]; /* NUL-separated, as passed to exec */
};
MS_LAYOUT(ms_exec, 312);

/* Causes of mapping and unmapping, with the words used as metric labels. */
#define MS_MAPPED_BY(X) \
    X(MMAP, "mmap")     \
    X(BRK, "brk")       \
    X(MREMAP, "mremap") \
    X(SHM, "shm")       \
    X(FORK, "fork")     \
    X(EXEC, "exec")     \
    X(OTHER, "other") /* mapped before watching began, moved in, or the stack grew */
#define MS_UNMAPPED_BY(X) \
    X(MUNMAP, "munmap")   \
    X(BRK, "brk")         \
    X(MREMAP, "mremap")   \
    X(SHM, "shm")         \
    X(EXEC, "exec")       \
    X(EXIT, "exit")       \
    X(OTHER, "other")
#define MS_FAILED_CALLS(X)    \
    X(MMAP, "mmap")           \
    X(BRK, "brk")             \
    X(MREMAP, "mremap")       \
    X(FALLOCATE, "fallocate") \
    X(FORK, "fork")
#define MS_FAILURE_REASONS(X) \
    X(ENOMEM, "enomem")       \
    X(ENOSPC, "enospc")

/* clang-format off */
#define X(name, word) MS_MAPPED_##name,
enum ms_mapped_by { MS_MAPPED_BY(X) MS_MAPPED_COUNT };
#undef X
#define X(name, word) MS_UNMAPPED_##name,
enum ms_unmapped_by { MS_UNMAPPED_BY(X) MS_UNMAPPED_COUNT };
#undef X
#define X(name, word) MS_FAILED_##name,
enum ms_failed_call { MS_FAILED_CALLS(X) MS_FAILED_COUNT };
#undef X
#define X(name, word) MS_REASON_##name,
enum ms_failure_reason { MS_FAILURE_REASONS(X) MS_REASON_COUNT };
#undef X
/* clang-format on */

/* Pages that one address space has mapped and unmapped since memscope follows it. The sum of `mapped` minus the sum of
 * `unmapped` is always `total_pages`, because only differences of the size are counted. */
struct ms_mappings {
    __u64 mapped[MS_MAPPED_COUNT];     /* pages */
    __u64 unmapped[MS_UNMAPPED_COUNT]; /* pages */
    __u64 total_pages;
    __u32 failures[MS_FAILED_COUNT][MS_REASON_COUNT];
};
MS_LAYOUT(ms_mappings, 160);

enum ms_reclaim_by {
    MS_RECLAIM_MEMCG,  /* a cgroup is at its limit */
    MS_RECLAIM_DIRECT, /* the host is short of memory */
    MS_RECLAIM_COUNT,
};

/* Reclaim stalls of the threads of one target. Only stalls that have ended are counted. */
struct ms_reclaim {
    __u64 stalled_ns[MS_RECLAIM_COUNT];
    __u64 stalls[MS_RECLAIM_COUNT];
};
MS_LAYOUT(ms_reclaim, 32);

/* A thread that is stalled in reclaim. */
struct ms_stall {
    __u64 since_ns; /* boot clock */
    __u64 target;
    __u64 thread_start_ns; /* because a thread id can be reused */
};
MS_LAYOUT(ms_stall, 24);

struct ms_exit {
    struct ms_header h;
    char comm[MS_COMM_BYTES];
    __u64 minor_faults;
    __u64 major_faults;
    __s32 exit_code; /* as wait() returns it */
    __u32 flags;     /* MS_TASK_... */
    struct ms_mappings mappings;
};
MS_LAYOUT(ms_exit, 232);

/* MS_EVENT_CGROUPS_CHANGED is the header alone. */

#define MS_TASK_FORKED_WITHOUT_EXEC 1u
#define MS_TASK_OWNS_MEMORY 2u  /* not set: the process shares the address space of another, or has none left */
#define MS_TASK_HAS_MAPPINGS 4u /* its mapped bytes are followed */
/* The threads were not visited in this scan: the faults are those of the first thread and of exited threads only. */
#define MS_TASK_FAULTS_PARTIAL 8u

/* One process as a scan returns it. */
struct ms_task {
    __u64 time_ns; /* of the visit: events before it are already included */
    __u64 start_ns;
    __u64 target;
    __u64 minor_faults; /* of all threads, exited ones included */
    __u64 major_faults;
    __s64 anon_pages;
    __s64 file_pages;
    __s64 shmem_pages;
    __s64 swap_pages;
    __u64 virtual_pages;
    __u64 page_table_bytes;
    __u64 mount_namespace; /* inode */
    __u64 cgroup;          /* id, in the hierarchy of the memory controller */
    __u32 pid;
    __u32 parent;
    __u32 threads;
    __u32 flags; /* MS_TASK_... */
    char comm[MS_COMM_BYTES];
    __u64 mappings_activity; /* rises with every change of the mappings below */
    struct ms_mappings mappings;
};
MS_LAYOUT(ms_task, 304);

#endif
