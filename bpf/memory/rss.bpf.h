/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Exact resident pages of an address space.
 *
 * From 6.2 on each kind is a percpu_counter. Its shared count lags by up to a batch per CPU, so the per-CPU
 * parts are added. The offsets of the CPUs are not exported to BPF, and not every kernel has the
 * __per_cpu_offset symbol in kallsyms. But a per-CPU BPF map has an address per CPU and a base. Their
 * difference is the offset of that CPU, which is the same for every per-CPU object.
 */
#ifndef MEMSCOPE_RSS_BPF_H
#define MEMSCOPE_RSS_BPF_H

#include "processes/threads.bpf.h"
#include "shared/kernel_types.bpf.h"

/* Number of possible CPUs, set before loading. */
const volatile __u32 cpu_count = 1;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} anchor SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* cpu_count */
	__type(key, __u32);
	__type(value, __u64);
} cpu_offsets SEC(".maps");

/* Kernels with per-CPU resident counters (6.2) also have bpf_loop() (5.17). Unlike a plain loop, it costs the
 * verifier nothing on a host with a thousand CPUs. */
struct offset_search {
	__u64 base;
};

static long find_cpu_offset(__u32 cpu, struct offset_search *search)
{
	__u32 first = 0, key = cpu;
	void *element = bpf_map_lookup_percpu_elem(&anchor, &first, cpu);
	__u64 *offset = bpf_map_lookup_elem(&cpu_offsets, &key);

	if (element && offset)
		*offset = address_of(element) - search->base;
	return 0;
}

static __always_inline void find_cpu_offsets(void)
{
	struct offset_search search = {};
	__u64 map = address_of(&anchor);

	bpf_probe_read_kernel(&search.base, sizeof(search.base),
	                      (void *)(map + bpf_core_field_offset(struct bpf_array, pptrs)));
	bpf_loop(cpu_count, find_cpu_offset, &search, 0);
}

/* The anonymous pages that the current CPU has added to the address space and not to its shared count. */
static __always_inline __s32 anon_pages_of_this_cpu(struct mm_struct *mm)
{
	__u32 first = 0;
	void *element = bpf_map_lookup_elem(&anchor, &first);
	__u64 map = address_of(&anchor), base = 0;
	__s32 part = 0;

	if (!element)
		return 0;
	bpf_probe_read_kernel(&base, sizeof(base),
	                      (void *)(map + bpf_core_field_offset(struct bpf_array, pptrs)));
	bpf_probe_read_kernel(&part, sizeof(part),
	                      (void *)BPF_CORE_READ(mm, rss_stat[RSS_ANON].counters) +
	                          (address_of(element) - base));
	return part;
}

struct percpu_sum {
	__s32 *parts[4];
	__s64 pages[4];
	bool adjacent; /* the four counters are allocated together, so one read per CPU gets all of them */
};

static long add_cpu_part(__u32 cpu, struct percpu_sum *sum)
{
	__u32 key = cpu;
	__u64 *offset = bpf_map_lookup_elem(&cpu_offsets, &key);
	__s32 part[4] = {};

	if (!offset)
		return 1;
	if (sum->adjacent) {
		bpf_probe_read_kernel(part, sizeof(part), (void *)sum->parts[0] + *offset);
	} else {
		for (int i = 0; i < 4; i++)
			bpf_probe_read_kernel(&part[i], sizeof(part[i]), (void *)sum->parts[i] + *offset);
	}
	for (int i = 0; i < 4; i++)
		sum->pages[i] += part[i];
	return 0;
}

static __always_inline bool parts_are_adjacent(const struct percpu_sum *sum)
{
	return sum->parts[1] == sum->parts[0] + 1 && sum->parts[2] == sum->parts[0] + 2 &&
	       sum->parts[3] == sum->parts[0] + 3;
}

static __always_inline void put_sums(const struct percpu_sum *sum, __s64 pages[4])
{
	for (int i = 0; i < 4; i++) /* the parts change while they are read, so a sum can be negative */
		pages[i] = sum->pages[i] > 0 ? sum->pages[i] : 0;
}

static __always_inline void sum_percpu(struct thread_sums *sums, __s64 pages[4])
{
	void *counters = (void *)sums->mm + bpf_core_field_offset(struct mm_struct, rss_stat);
	struct percpu_sum sum = {};

	for (int i = 0; i < 4; i++) {
		/* CO-RE relocations need a constant array index, so the address of the element is computed
		 * here. */
		struct percpu_counter *counter = counters + i * bpf_core_type_size(struct percpu_counter);

		sum.pages[i] = BPF_CORE_READ(counter, count);
		sum.parts[i] = BPF_CORE_READ(counter, counters);
	}
	sum.adjacent = parts_are_adjacent(&sum);
	bpf_loop(cpu_count, add_cpu_part, &sum, 0);
	put_sums(&sum, pages);
}

/* Up to 6.1: one count per address space, plus the pages that each thread has not added to it yet. */
static __always_inline void sum_thread_parts(struct thread_sums *sums, __s64 pages[4])
{
	struct mm_struct___before_6_2 *mm = (void *)sums->mm;
	__s64 counted[4] = {};

	bpf_core_read(counted, sizeof(counted), &mm->rss_stat.count);
	for (int i = 0; i < 4; i++)
		pages[i] = counted[i] + sums->cached_rss[i];
}

#endif
