/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Who is watched: a task is, if its cgroup or one above it is a target. Decided here, from the live
 * hierarchy. */
#ifndef MEMSCOPE_MEMBERSHIP_BPF_H
#define MEMSCOPE_MEMBERSHIP_BPF_H

#include "loss.bpf.h"

/* With the memory controller on cgroup v1 the default hierarchy says nothing about memory: the task's cgroup
 * of the memory controller does. */
const volatile __u32 memory_on_v1 = 0;
/* The watcher never counts itself. */
const volatile __u32 watcher_pid = 0;
/* Nor the processes that read others for it: this one starts them and is their parent. 0: there is none. */
const volatile __u32 spawner_pid = 0;

/* Ids of the watched cgroups: written by the collector while the programs run. Shared by all objects. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, __u32);
} targets SEC(".maps");

/* Or: a process and all its descendants, wherever their cgroups are and whoever their parents become. */
const volatile __u32 follow_descendants = 0;

/* By pid: the id the collector gave the tree. Written by the collector for those that are there already, and
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
	/* The subsystem's number differs between kernel configurations, so the slot is found by hand. */
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

/* The watcher, or a process that works for it. */
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
