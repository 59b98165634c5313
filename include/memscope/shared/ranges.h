/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Changes of single ranges of an address space. All changes go through one ring buffer, starts and ends of address
 * spaces included, so that the collector reads them in the order in which they happened.
 */
#ifndef MEMSCOPE_SHARED_RANGES_H
#define MEMSCOPE_SHARED_RANGES_H

#include <memscope/shared/wire.h>

/* A new private writable anonymous mapping that is smaller than this is not sent, and a change of the break is sent
 * when it adds up to this. All other changes of any size are sent, because they may concern a part of a known
 * range. */
#define MS_RANGE_LEAST_BYTES (64u << 10)

enum ms_range_event_kind {
    MS_EVENT_RANGE = 64,
};

/* The event of removed memory is sent before the kernel removes it, the event of added memory after. Otherwise, if one
 * thread unmaps a range and another thread gets the same addresses, the events could arrive in the wrong order. If the
 * call fails, a second event cancels the first. */
enum ms_range_call {
    MS_RANGE_MAP = 1,            /* mmap(), brk() upwards; replaces earlier mappings in the range */
    MS_RANGE_UNMAP = 2,          /* munmap(), brk() downwards */
    MS_RANGE_UNMAP_FAILED = 3,   /* the thread's UNMAP of that range did not happen */
    MS_RANGE_MOVE_BEGINS = 4,    /* mremap(): the old range is removed */
    MS_RANGE_MOVED = 5,          /* the range is at its new address, possibly with another length */
    MS_RANGE_MOVE_FAILED = 6,    /* the call failed, so the old range is restored */
    MS_RANGE_COPIED = 7,         /* mremap() that leaves the old range mapped */
    MS_RANGE_PROTECT = 8,        /* mprotect() */
    MS_RANGE_PROTECT_FAILED = 9, /* with ENOMEM: the range is changed up to the first hole */
    MS_RANGE_ATTACH = 10,        /* shmat(): the length is only in /proc/PID/maps */
    MS_RANGE_DETACH = 11,        /* shmdt() of the segment attached at `begin` */
    MS_RANGE_DETACH_FAILED = 12,
    MS_RANGE_FORK = 13,      /* a new address space, a copy of that of `parent` */
    MS_RANGE_EXEC = 14,      /* a new address space, without any range of the old one */
    MS_RANGE_END = 15,       /* the process has exited, or has left the target */
    MS_RANGE_GIVE_BACK = 16, /* madvise(): the pages are discarded, the range stays mapped */
    MS_RANGE_CALL_END
};

enum ms_range_kind {
    MS_RANGE_NO_KIND = 0,
    MS_RANGE_ANONYMOUS = 1, /* private, without a file */
    MS_RANGE_SHARED = 2,    /* shared memory: of shared anonymous mappings, memfd, tmpfs, hugetlbfs */
    MS_RANGE_ATTACHED = 3,  /* shared memory of System V */
    MS_RANGE_FILE = 4,      /* mapping of a file, shared or private */
    MS_RANGE_OTHER = 5,     /* mapping of a device */
    MS_RANGE_KIND_END
};

/* Same values as PROT_READ, PROT_WRITE, PROT_EXEC. */
#define MS_RANGE_READABLE 1u
#define MS_RANGE_WRITABLE 2u
#define MS_RANGE_EXECUTABLE 4u

/* MS_EVENT_RANGE. The target in the header is 0, because the collector knows the target of the process. */
struct ms_range {
    struct ms_header h;
    __u64 begin;
    __u64 end; /* exclusive */
    __u64 old_begin;
    __u64 old_end;
    __u64 stack;      /* stack that added memory; MS_STACK_OTHER: none */
    __u64 lost;       /* dropped events of this address space so far */
    __u32 thread;     /* matches the entry and the return of a call */
    __u32 generation; /* rises with every exec */
    __u32 parent;     /* MS_RANGE_FORK */
    __u16 call;       /* enum ms_range_call */
    __u8 kind;        /* enum ms_range_kind */
    __u8 protection;  /* MS_RANGE_READABLE ... */
};
MS_LAYOUT(ms_range, 96);

/* State of an address space between its events. */
struct ms_range_state {
    __u64 lost;
    __u64 last_break; /* last sent value, rounded up to pages; 0: not seen yet */
    __u32 generation;
    __u32 pad;
};
MS_LAYOUT(ms_range_state, 24);

#endif
