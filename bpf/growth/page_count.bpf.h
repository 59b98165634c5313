/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Counts anonymous pages when they are faulted in, and decides at which page a sample is due.
 *
 * Counts all pages that are faulted in, and does not subtract freed pages. Otherwise larger memory
 * that is allocated and freed all the time would hide a small leak, which would hardly ever be sampled.
 */
#ifndef MEMSCOPE_PAGE_COUNT_BPF_H
#define MEMSCOPE_PAGE_COUNT_BPF_H

#include "growth/samples.bpf.h"
#include "memory/rss.bpf.h"
#include "shared/syscalls.bpf.h"

/* The counts of several address spaces on a CPU, chosen by a hash. If two address spaces share a count, the
 * sums stay right, but each address space is sampled less evenly. */
#define COUNTDOWNS 64
struct countdown {
	__s64 left; /* pages until the next sample */
	__u64 mm;   /* the last address space on this CPU, and its shared count of anonymous pages then */
	__s64 pages;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTDOWNS);
	__type(key, __u32);
	__type(value, struct countdown);
} countdowns SEC(".maps");

/* The last shared counts of address spaces, for all CPUs. The copy of a CPU in `countdowns` is lost when
 * another address space takes its slot, and it is missing or outdated when a thread moves to another CPU.
 * This map is read and written only if the count differs from that copy, about once in a batch of faults,
 * when the kernel writes its own counter as well. A group is a cache line. */
#define LAST_COUNT_GROUPS_BITS 10
#define LAST_COUNTS_OF_GROUP   4
struct last_count {
	__u64 mm;
	__s64 pages;
};
struct last_count_group {
	struct last_count counts[LAST_COUNTS_OF_GROUP];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << LAST_COUNT_GROUPS_BITS);
	__type(key, __u32);
	__type(value, struct last_count_group);
} last_counts SEC(".maps");

/* Random, so that the samples do not follow the rhythm of a program, but not far from the mean, because the
 * error of a sum grows with the variance. The mean is `sample_pages`. */
static __always_inline __s64 next_interval(void)
{
	return sample_pages * 3 / 4 + bpf_get_prandom_u32() % (sample_pages / 2 + 1);
}

static __always_inline __u32 countdown_of(struct mm_struct *mm)
{
	return ((__u64)mm >> 6 ^ (__u64)mm >> 12) % COUNTDOWNS;
}

/* The entry of the address space. If it has none, a random entry of its group, which the caller overwrites.
 */
static __always_inline struct last_count *last_count_of(struct mm_struct *mm)
{
	/* 32 bits, because the verifier allows no such arithmetic with a whole pointer. */
	__u32 key = ((__u32)(__u64)mm >> 6) * 0x9e3779b1U >> (32 - LAST_COUNT_GROUPS_BITS);
	struct last_count_group *group = bpf_map_lookup_elem(&last_counts, &key);

	if (!group)
		return NULL;
	for (int i = 0; i < LAST_COUNTS_OF_GROUP; i++)
		if (group->counts[i].mm == (__u64)mm)
			return &group->counts[i];
	return &group->counts[bpf_get_prandom_u32() % LAST_COUNTS_OF_GROUP];
}

/* The change of the shared count since it last changed, on any CPU. 0 if the previous count is not known. */
static __always_inline __s64 jump_of(struct mm_struct *mm, __s64 pages, struct countdown *count)
{
	struct last_count *last;
	__s64 jump = 0;

	if (count->mm == (__u64)mm) {
		if (count->pages == pages)
			return 0;
		jump = pages - count->pages;
	}
	count->mm = (__u64)mm;
	count->pages = pages;
	last = last_count_of(mm);
	if (!last)
		return jump;
	if (last->mm == (__u64)mm) /* more recent than the count of this CPU */
		jump = pages - last->pages;
	last->mm = (__u64)mm;
	last->pages = pages;
	return jump;
}

/* A huge page raises the shared count by 512 pages at once, because that exceeds the batch that a CPU keeps
 * for itself. The jump alone is no proof: other CPUs raise the shared count, too. But after an addition of
 * that size this CPU keeps nothing for itself. */
#define HUGE_PAGES 512
#define HUGE_JUMP  (HUGE_PAGES / 2)

/* System calls that change the count of pages without a page fault: they unmap memory, cut a mapped file, or
 * place pages for userfaultfd (ioctl). */
static __always_inline bool changes_pages(long number)
{
	switch (number) {
	case NR_MUNMAP:
	case NR_MREMAP:
	case NR_BRK:
	case NR_MMAP: /* MAP_FIXED */
	case NR_MADVISE:
	case NR_PROCESS_MADVISE:
	case NR_SHMDT:
	case NR_IOCTL:
	case NR_TRUNCATE:
	case NR_FTRUNCATE:
	case NR_FALLOCATE:
		return true;
	default: /* also page faults, which have no number */
		return false;
	}
}

/* True if something else than a page fault of the task has changed the number of pages: another task, reclaim
 * by the task itself (which can also run during a page fault), or a system call. */
#define PF_MEMALLOC 0x00000800
static __always_inline bool is_no_fault(struct task_struct *task, struct mm_struct *mm)
{
	return task->mm != mm || task->flags & PF_MEMALLOC ||
	       changes_pages(syscall_of((struct pt_regs *)bpf_task_pt_regs(task)));
}

/* Starts the next count if this one has ended. */
static __always_inline void count_anew(struct countdown *count)
{
	if (count->left <= 0)
		count->left += next_interval();
}

/* From 6.2 on, at each change of the number of anonymous pages. Runs at every page fault of the host. Returns
 * the count if it has ended or if the shared count has changed, else NULL. */
static __always_inline struct countdown *rare_change(struct mm_struct *mm, __s64 pages, __u32 slot)
{
	struct countdown *count = bpf_map_lookup_elem(&countdowns, &slot);

	if (count && --count->left > 0 && count->mm == (__u64)mm && count->pages == pages)
		return NULL;
	return count;
}

/* The number of pages that this sample represents. 0: no sample is due. */
static __always_inline __u32 due_pages(struct mm_struct *mm, __s64 pages, struct countdown *count)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__s64 jump = jump_of(mm, pages, count);

	if (count->left > 0 && jump < HUGE_JUMP)
		return 0;
	if (is_no_fault(task, mm)) {
		count_anew(count);
		return 0;
	}
	if (jump >= HUGE_JUMP && anon_pages_of_this_cpu(mm) == 0)
		return HUGE_PAGES;
	return count->left <= 0 ? sample_pages : 0;
}

#endif
