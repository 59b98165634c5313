/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Decides from the live hierarchy whether a task is watched: its cgroup or one of its ancestors must be a
 * target. */
#ifndef MEMSCOPE_MEMBERSHIP_BPF_H
#define MEMSCOPE_MEMBERSHIP_BPF_H

#include "shared/loss.bpf.h"

/* Set if the memory controller is on cgroup v1. Then the cgroup of the task in the v1 memory hierarchy
 * counts, not the one in the default hierarchy. */
const volatile __u32 memory_on_v1 = 0;
/* The watcher is never watched itself. */
const volatile __u32 watcher_pid = 0;
/* The parent of the helper processes. It and its children are never watched either. 0: there is none. */
const volatile __u32 spawner_pid = 0;

/* Ids of the watched cgroups. The collector changes them while the programs run. Shared by all objects. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, __u32);
} targets SEC(".maps");

/* Set if the target is a process with all its descendants, independent of their cgroups and of later changes
 * of their parents. */
const volatile __u32 follow_descendants = 0;

/* By pid: the target id of the process tree. Written by the collector for processes that exist already, and
 * at each fork. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u64);
} members SEC(".maps");

static __always_inline __u64 member_target(__u32 pid)
{
	__u64 *target = bpf_map_lookup_elem(&members, &pid);

	return target ? *target : 0;
}

static __always_inline struct cgroup_subsys_state *memory_css(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css = NULL;
	unsigned long index;

	if (!memory_on_v1)
		return &BPF_CORE_READ(set, dfl_cgrp)->self;
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return NULL;
	/* The index of the subsystem differs between kernels, so the address of its slot is computed here. */
	index = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	bpf_probe_read_kernel(&css, sizeof(css),
	                      (void *)set + bpf_core_field_offset(struct css_set, subsys) +
	                          index * sizeof(css));
	return css;
}

static __always_inline bool is_spawner_or_child(__u32 pid, __u32 parent)
{
	return spawner_pid && (pid == spawner_pid || parent == spawner_pid);
}

/* The watcher or one of its helper processes. */
static __always_inline bool is_own(struct task_struct *task, __u32 pid)
{
	return pid == watcher_pid || is_spawner_or_child(pid, BPF_CORE_READ(task, real_parent, tgid));
}

/* The id of the innermost watched cgroup around the task, 0 if there is none. */
static __always_inline __u64 target_of(struct task_struct *task)
{
	struct cgroup_subsys_state *css;

	if (follow_descendants)
		return member_target(BPF_CORE_READ(task, tgid));
	css = memory_css(task);
	for (int depth = 0; depth < MS_CGROUP_DEPTH; depth++) {
		__u64 id;

		if (!css)
			return 0;
		id = BPF_CORE_READ(css, cgroup, kn, id);
		if (bpf_map_lookup_elem(&targets, &id))
			return id;
		css = BPF_CORE_READ(css, parent);
	}
	if (css)
		count_loss(MS_LOSS_CGROUP_TOO_DEEP);
	return 0;
}

#endif
