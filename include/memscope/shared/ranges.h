/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What happens to single ranges of an address space. All of it passes through one ring, births and ends of the address
 * space included, so that the collector reads it in the order in which it happened.
 */
#ifndef MEMSCOPE_SHARED_RANGES_H
#define MEMSCOPE_SHARED_RANGES_H

#include <memscope/shared/wire.h>

/* A fresh private writable mapping without a file that is smaller does not travel, and the break is sent when it has
 * moved that far. Everything else travels, whatever its size: it may concern a part of a range that is known. */
#define MS_RANGE_LEAST_BYTES (64u << 10)

enum ms_range_event_kind {
    MS_EVENT_RANGE = 64,
};

/* Memory that is taken away is told before the kernel does it, memory that is added after. Otherwise a thread that is
 * given what another one has just unmapped could be heard first. What was told too early is taken back if the call
 * fails.
 */
enum ms_range_call {
    MS_RANGE_MAP = 1,            /* whatever was there is gone: mmap(), brk() upwards */
    MS_RANGE_UNMAP = 2,          /* munmap(), brk() downwards */
    MS_RANGE_UNMAP_FAILED = 3,   /* the thread's UNMAP of that range did not happen */
    MS_RANGE_MOVE_BEGINS = 4,    /* mremap(): `old` is taken up */
    MS_RANGE_MOVED = 5,          /* and put down here, longer or shorter */
    MS_RANGE_MOVE_FAILED = 6,    /* or put back */
    MS_RANGE_COPIED = 7,         /* mremap() that leaves the old range where it is */
    MS_RANGE_PROTECT = 8,        /* mprotect() */
    MS_RANGE_PROTECT_FAILED = 9, /* and what came before the obstacle is changed nevertheless */
    MS_RANGE_ATTACH = 10,        /* shmat(): how long the range is, only /proc/PID/maps says */
    MS_RANGE_DETACH = 11,        /* shmdt(), of what was attached at `begin` */
    MS_RANGE_DETACH_FAILED = 12,
    MS_RANGE_FORK = 13, /* a new address space, a copy of `parent`'s */
    MS_RANGE_EXEC = 14, /* a new one that has nothing of the old */
    MS_RANGE_END = 15,  /* the process has ended, or left what is watched */
    MS_RANGE_CALL_END
};

enum ms_range_kind {
    MS_RANGE_NO_KIND = 0,
    MS_RANGE_ANONYMOUS = 1, /* private, without a file */
    MS_RANGE_SHARED = 2,    /* shared memory: of shared anonymous mappings, memfd, tmpfs, hugetlbfs */
    MS_RANGE_ATTACHED = 3,  /* shared memory of System V */
    MS_RANGE_FILE = 4,      /* a file's, private mappings of it included */
    MS_RANGE_OTHER = 5,     /* a device's */
    MS_RANGE_KIND_END
};

/* As PROT_READ, PROT_WRITE, PROT_EXEC are. */
#define MS_RANGE_READABLE 1u
#define MS_RANGE_WRITABLE 2u
#define MS_RANGE_EXECUTABLE 4u

/* MS_EVENT_RANGE. The header's target is 0: the collector knows where the process belongs. */
struct ms_range {
    struct ms_header h;
    __u64 begin;
    __u64 end; /* behind the last byte */
    __u64 old_begin;
    __u64 old_end;
    __u64 stack;      /* where memory was added; MS_STACK_OTHER: no stack */
    __u64 lost;       /* events of this address space that found no room so far */
    __u32 thread;     /* what begins and ends belongs together by it */
    __u32 generation; /* rises with every exec */
    __u32 parent;     /* MS_RANGE_FORK */
    __u16 call;       /* enum ms_range_call */
    __u8 kind;        /* enum ms_range_kind */
    __u8 protection;  /* MS_RANGE_READABLE ... */
};
MS_LAYOUT(ms_range, 96);

/* What is remembered of an address space from one event to the next. */
struct ms_range_state {
    __u64 lost;
    __u64 last_break; /* as sent, in whole pages; 0: not seen yet */
    __u32 generation;
    __u32 pad;
};
MS_LAYOUT(ms_range_state, 24);

#endif
