/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Mapped bytes of each watched address space, as differences of its size (mm->total_vm). Whoever notices a
 * difference books it: the call that made it, a fork, an exec, an exit, or the scan for what no call made (a
 * stack that grew). Each difference is taken against the size at the last booking, exchanged atomically, so
 * all of them add up to the size whatever happened in between and in whatever order.
 */
#ifndef MEMSCOPE_MAPPINGS_BPF_H
#define MEMSCOPE_MAPPINGS_BPF_H

#include "loss.bpf.h"

/* --no-maps switches it off. */
const volatile __u32 follow_mappings = 0;

struct address_space {
	struct ms_mappings
	    mappings;   /* first: the verifier takes no offset before it has seen the null check */
	__u64 start_ns; /* of the process: a pid may be used again */
};

/* By process, not by address space: at the end of a process its address space may be gone already. A vfork
 * child has no entry, its calls are booked by the next one to look at its parent. Shared by all objects. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct address_space);
} mappings SEC(".maps");

static __always_inline void add(__u64 *counter, __u64 pages)
{
	__sync_fetch_and_add(counter, pages);
}

static __always_inline void book(struct ms_mappings *m, __u64 pages, enum ms_mapped_by up,
                                 enum ms_unmapped_by down)
{
	__u64 before;

	if (m->total_pages == pages)
		return;
	before = __sync_lock_test_and_set(&m->total_pages, pages);
	if (pages > before)
		add(&m->mapped[up], pages - before);
	else if (pages < before)
		add(&m->unmapped[down], before - pages);
}

static __always_inline struct ms_mappings *mappings_of(__u32 pid)
{
	struct address_space *space = bpf_map_lookup_elem(&mappings, &pid);

	return space ? &space->mappings : NULL;
}

/* Starts to follow an address space of that size. The scan may see a child before its fork is told, so the
 * entry may be there already; one of a predecessor, whose exit nobody saw, is replaced. */
static __always_inline struct ms_mappings *begin_mappings(__u32 pid, __u64 start_ns, __u64 pages,
                                                          enum ms_mapped_by why)
{
	struct address_space fresh = {.start_ns = start_ns};
	struct address_space *known;

	fresh.mappings.total_pages = pages;
	fresh.mappings.mapped[why] = pages;
	if (bpf_map_update_elem(&mappings, &pid, &fresh, BPF_NOEXIST) == 0)
		return mappings_of(pid);
	known = bpf_map_lookup_elem(&mappings, &pid);
	if (known && known->start_ns == start_ns) {
		book(&known->mappings, pages, why, MS_UNMAPPED_OTHER);
		return &known->mappings;
	}
	if (bpf_map_update_elem(&mappings, &pid, &fresh, BPF_ANY)) {
		count_loss(MS_LOSS_MAPPINGS_FULL);
		return NULL;
	}
	return mappings_of(pid);
}

static __always_inline void end_mappings(__u32 pid)
{
	if (follow_mappings)
		bpf_map_delete_elem(&mappings, &pid);
}

#endif
