/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Mapped bytes of each watched address space, as differences of its size (mm->total_vm). The program that
 * first sees a difference counts it: at the return of the call that made it, at a fork, exec or exit, or in
 * the scan if no call made it (a stack that grew). Each difference is taken against the size at the last
 * count, which is exchanged atomically. So the differences always add up to the size, in any order.
 */
#ifndef MEMSCOPE_MAPPINGS_BPF_H
#define MEMSCOPE_MAPPINGS_BPF_H

#include "shared/loss.bpf.h"
#include <memscope/shared/deaths.h>
#include <memscope/shared/ranges.h>

/* 0 with --no-maps. */
const volatile __u32 follow_mappings = 0;

struct address_space {
	struct ms_range_state ranges; /* must be first: the collector reads it at offset 0 */
	struct ms_mappings mappings;
	__u64 start_ns; /* of the process, because a pid can be reused */
	__u64 activity; /* rises with every change, so that the scan copies only changed entries. Starts with
	                   the time, so that a new entry does not repeat the values of an earlier one */
	struct ms_failure failure;
	__u64 libraries_mapped; /* number of mapped libraries that were reported since the last exec */
};

/* By pid, not by address space, because at the exit of a process its address space may already be gone. A
 * vfork child has no entry: its calls are counted the next time that the size of its parent is read. Shared
 * by all objects. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct address_space);
} mappings SEC(".maps");

static __always_inline void add(__u64 *counter, __u64 amount)
{
	__sync_fetch_and_add(counter, amount);
}

/* Sum of the differences that were counted so far. */
static __always_inline __u64 sum_of_mapped(const struct ms_mappings *m)
{
	__u64 sum = 0;

	for (int i = 0; i < MS_MAPPED_COUNT; i++)
		sum += m->mapped[i];
	for (int i = 0; i < MS_UNMAPPED_COUNT; i++)
		sum -= m->unmapped[i];
	return sum;
}

/* Returns the size at the last count and replaces it by `pages`. */
static __always_inline __u64 exchange_total(struct ms_mappings *m, __u64 pages)
{
#ifdef MEMSCOPE_WITHOUT_EXCHANGE
	/* Kernels before 5.12. Two threads that count at the same time can both count the same pages. So the
	 * difference is taken against the counted sum: the next count, in the scan at the latest, corrects
	 * it. Other threads can change the parts while they are summed, so the sum can even be negative. */
	__u64 before = sum_of_mapped(m);

	m->total_pages = pages;
	return before;
#else
	return m->total_pages == pages ? pages : __sync_lock_test_and_set(&m->total_pages, pages);
#endif
}

static __always_inline void count_mapped(struct address_space *space, __u64 pages, enum ms_mapped_by up,
                                         enum ms_unmapped_by down)
{
	__s64 grown = pages - exchange_total(&space->mappings, pages);

	if (!grown)
		return;
	if (grown > 0)
		add(&space->mappings.mapped[up], grown);
	else
		add(&space->mappings.unmapped[down], -grown);
	add(&space->activity, 1);
}

static __always_inline struct address_space *mappings_of(__u32 pid)
{
	return bpf_map_lookup_elem(&mappings, &pid);
}

/* Starts to follow an address space of that size. The scan can see a child before the fork hook runs, so the
 * entry may already exist. An entry of an earlier process with the same pid, whose exit was missed, is
 * replaced. */
static __always_inline struct address_space *begin_mappings(__u32 pid, __u64 start_ns, __u64 pages,
                                                            enum ms_mapped_by why)
{
	struct address_space fresh = {.start_ns = start_ns, .activity = bpf_ktime_get_ns()};
	struct address_space *known;

	fresh.mappings.total_pages = pages;
	fresh.mappings.mapped[why] = pages;
	if (bpf_map_update_elem(&mappings, &pid, &fresh, BPF_NOEXIST) == 0)
		return mappings_of(pid);
	known = mappings_of(pid);
	if (known && known->start_ns == start_ns) {
		count_mapped(known, pages, why, MS_UNMAPPED_OTHER);
		return known;
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
