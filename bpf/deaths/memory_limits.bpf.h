/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Finds the cgroup whose limit is exhausted at this moment. */
#ifndef MEMSCOPE_MEMORY_LIMITS_BPF_H
#define MEMSCOPE_MEMORY_LIMITS_BPF_H

#include "processes/membership.bpf.h"
#include <memscope/shared/deaths.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct page_counter {
	atomic_long_t usage;
	unsigned long max;
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
	struct page_counter memsw; /* v1: memory and swap */
	bool oom_group;
	atomic_long_t memory_events_local[1];
};

enum memcg_memory_event {
	MEMCG_OOM = 3, /* the real number comes from the kernel's BTF */
};

#pragma clang attribute pop

#define UNLIMITED_PAGES ((1ull << 63) / 65536 - 1) /* at most the kernel's own value, for every page size */

/* The cgroup of a task in the hierarchy of the memory controller, v1 or v2. */
static __always_inline struct cgroup_subsys_state *controlled_css(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = NULL;

	if (!bpf_core_type_exists(struct mem_cgroup) ||
	    !bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return NULL;
	bpf_probe_read_kernel(&css, sizeof(css),
	                      (void *)set + bpf_core_field_offset(struct css_set, subsys) +
	                          bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) * sizeof(css));
	return css;
}

/* Page cache keeps many cgroups at their limit all the time, so only a cgroup with an out-of-memory event
 * counts. */
static __always_inline bool was_out_of_memory(struct mem_cgroup *group)
{
	long events = 0;

	if (!bpf_core_field_exists(group->memory_events_local) ||
	    !bpf_core_enum_value_exists(enum memcg_memory_event, MEMCG_OOM))
		return true;
	bpf_probe_read_kernel(&events, sizeof(events),
	                      (void *)group + bpf_core_field_offset(struct mem_cgroup, memory_events_local) +
	                          bpf_core_enum_value(enum memcg_memory_event, MEMCG_OOM) * sizeof(events));
	return events > 0;
}

/* Other threads can free memory while the OOM killer chooses, so a usage slightly below the limit counts as
 * full. */
static __always_inline bool is_full(__u64 usage, __u64 max)
{
	return max < UNLIMITED_PAGES && usage + max / 64 + 64 >= max;
}

static __always_inline bool take_limit(struct ms_oom_mark *mark, struct page_counter *counter)
{
	__u64 usage = BPF_CORE_READ(counter, usage.counter);
	__u64 max = BPF_CORE_READ(counter, max);

	if (!is_full(usage, max))
		return false;
	mark->limit_pages = max;
	mark->usage_pages = usage;
	return true;
}

static __always_inline void read_name(char *name, struct cgroup_subsys_state *css)
{
	const char *text = BPF_CORE_READ(css, cgroup, kn, name);

	bpf_probe_read_kernel_str(name, MS_NAME_BYTES, text);
}

/* Finds the innermost full cgroup of the task, its own cgroup included. */
static __always_inline void find_full_cgroup(struct ms_oom_mark *mark, struct task_struct *task)
{
	struct cgroup_subsys_state *css = controlled_css(task);

	if (!css)
		return;
	mark->cgroup = BPF_CORE_READ(css, cgroup, kn, id);
	read_name(mark->cgroup_name, css);
	for (int depth = 0; depth < MS_CGROUP_DEPTH && css; depth++) {
		struct mem_cgroup *group = (void *)css - bpf_core_field_offset(struct mem_cgroup, css);

		if (bpf_core_field_exists(group->oom_group) && BPF_CORE_READ(group, oom_group))
			mark->flags |= MS_OOM_WHOLE_CGROUP;
		if (was_out_of_memory(group) && (take_limit(mark, &group->memory) ||
		                                 (memory_on_v1 && bpf_core_field_exists(group->memsw) &&
		                                  take_limit(mark, &group->memsw)))) {
			mark->owner = BPF_CORE_READ(css, cgroup, kn, id);
			read_name(mark->owner_name, css);
			return;
		}
		css = BPF_CORE_READ(css, parent);
	}
}

#endif
