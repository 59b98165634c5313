// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* The process tree: sends an event when a process forks, execs, exits or moves, and when a cgroup is created,
 * removed or renamed. */
#include "deaths/death_evidence.bpf.h"
#include "memory/ranges.bpf.h"
#include "processes/threads.bpf.h"
#include "processes/tree_events.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline void read_comm(char *comm, struct task_struct *leader)
{
	bpf_core_read_str(comm, MS_COMM_BYTES, &leader->comm);
}

static __always_inline int send_placed(enum ms_event_kind kind, struct task_struct *leader, __u64 target)
{
	struct ms_placed *e = begin_event(kind, sizeof(*e));

	if (!e)
		return 0;
	identify(&e->h, leader, target);
	e->parent = BPF_CORE_READ(leader, real_parent, tgid);
	e->pad = 0;
	__builtin_memset(e->comm, 0, sizeof(e->comm));
	read_comm(e->comm, leader);
	send_event(e, false);
	return 0;
}

/* Descendants are followed from their fork on, because their parent can change later. */
static __always_inline void inherit(struct task_struct *parent, struct task_struct *child)
{
	__u64 target = member_target(BPF_CORE_READ(parent, tgid));
	__u32 pid = BPF_CORE_READ(child, tgid);

	if (target && bpf_map_update_elem(&members, &pid, &target, BPF_ANY))
		count_loss(MS_LOSS_MEMBERS_FULL);
}

/* A child of vfork() has no address space of its own. */
static __always_inline void begin_child_mappings(struct task_struct *parent, struct task_struct *child)
{
	struct mm_struct *mm = BPF_CORE_READ(child, mm);
	__u32 pid = BPF_CORE_READ(child, tgid);
	struct address_space *space;

	if (!follow_mappings || !mm || mm == BPF_CORE_READ(parent, mm))
		return;
	space = begin_mappings(pid, BPF_CORE_READ(child, start_boottime), BPF_CORE_READ(mm, total_vm),
	                       MS_MAPPED_FORK);
	if (space)
		send_turn(MS_RANGE_FORK, space, pid, BPF_CORE_READ(parent, tgid));
}

static __always_inline int on_fork(struct task_struct *parent, struct task_struct *child)
{
	__u64 target;

	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid)) /* a thread */
		return 0;
	if (follow_descendants)
		inherit(parent, child);
	target = target_of(child);
	if (!target || is_own(child, BPF_CORE_READ(child, tgid)))
		return 0;
	begin_child_mappings(parent, child);
	return send_placed(MS_EVENT_FORK, child, target);
}

/* Counts the whole old address space as unmapped and the whole new one as mapped. */
static __always_inline void replace_mappings(struct task_struct *task)
{
	__u32 pid = BPF_CORE_READ(task, tgid);
	__u64 pages = BPF_CORE_READ(task, mm, total_vm);
	struct address_space *space = mappings_of(pid);

	if (space) {
		count_mapped(space, 0, MS_MAPPED_OTHER, MS_UNMAPPED_EXEC);
		count_mapped(space, pages, MS_MAPPED_EXEC, MS_UNMAPPED_OTHER);
	} else { /* a child of vfork() has no entry yet */
		space = begin_mappings(pid, BPF_CORE_READ(task, start_boottime), pages, MS_MAPPED_EXEC);
		if (!space)
			return;
	}
	space->ranges.generation++; /* no other thread is left */
	space->ranges.last_break = 0;
	space->failure.time_ns = 0;
	space->libraries_mapped = 0;
	send_turn(MS_RANGE_EXEC, space, pid, 0);
}

static __always_inline int on_exec(struct task_struct *task, struct linux_binprm *bprm)
{
	__u64 target = target_of(task);
	__u32 pid = BPF_CORE_READ(task, tgid);
	struct ms_exec *e;
	unsigned long from;
	__u64 bytes;

	if (!target || is_own(task, pid))
		return 0;
	if (follow_mappings)
		replace_mappings(task);
	bpf_map_delete_elem(&cuda_failures, &pid); /* the failure was of the previous program */
	bpf_map_delete_elem(&host_failures, &pid);
	e = begin_event(MS_EVENT_EXEC, sizeof(*e));
	if (!e)
		return 0;
	identify(&e->h, task, target);
	__builtin_memset(e->comm, 0, sizeof(e->comm));
	__builtin_memset(e->argv, 0, sizeof(e->argv));
	read_comm(e->comm, task);
	from = BPF_CORE_READ(bprm, mm, arg_start);
	bytes = BPF_CORE_READ(bprm, mm, arg_end) - from;
	if (bytes > MS_ARGV_BYTES)
		bytes = MS_ARGV_BYTES;
	/* The kernel has just written the stack, so its pages are resident. If not, argv is empty and the
	 * collector reads it from /proc. */
	if (bpf_probe_read_user(e->argv, bytes, (void *)from))
		bytes = 0;
	e->argv_bytes = bytes;
	e->pad = 0;
	send_event(e, false);
	return 0;
}

/* Final mapped bytes of an address space: the rest is counted as unmapped by the exit. */
static __always_inline __u32 final_mappings(struct ms_mappings *last, __u32 pid)
{
	struct address_space *space = mappings_of(pid);

	if (!space)
		return 0;
	count_mapped(space, 0, MS_MAPPED_OTHER, MS_UNMAPPED_EXIT);
	*last = space->mappings;
	return MS_TASK_HAS_MAPPINGS;
}

static __always_inline void forget_mappings(__u32 pid)
{
	struct address_space *space = follow_mappings ? mappings_of(pid) : NULL;

	if (space)
		send_turn(MS_RANGE_END, space, pid, 0);
	end_mappings(pid);
}

static __always_inline int on_process_exit(struct task_struct *task, thread_summer sum)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	__u64 target = target_of(leader);
	__u32 pid = BPF_CORE_READ(leader, tgid);
	struct thread_walk walk = {};
	struct ms_exit *e;
	int code;

	if (!target || is_own(leader, pid))
		goto forget_evidence; /* the process may have been watched before */
	/* A process that is killed, or that calls exit_group(), has the exit code in its signal struct. If
	 * its threads exit one by one, the leader has it. */
	code = BPF_CORE_READ(leader, signal, group_exit_code);
	if (!code)
		code = BPF_CORE_READ(leader, exit_code);
	send_death(leader, pid, target, code);
	sum(&walk, leader);
	e = begin_event(MS_EVENT_EXIT, sizeof(*e));
	if (!e)
		goto forget;
	identify(&e->h, leader, target);
	__builtin_memset(e->comm, 0, sizeof(e->comm));
	read_comm(e->comm, leader);
	e->minor_faults = walk.sums.minor_faults;
	e->major_faults = walk.sums.major_faults;
	e->exit_code = code;
	__builtin_memset(&e->mappings, 0, sizeof(e->mappings));
	e->flags = exec_flag(leader);
	if (follow_mappings)
		e->flags |= final_mappings(&e->mappings, pid);
	send_event(e, false);
forget:
	forget_mappings(pid);
	if (follow_descendants)
		bpf_map_delete_elem(&members, &pid);
forget_evidence:
	bpf_map_delete_elem(&death_evidence, &pid);
	bpf_map_delete_elem(&cuda_failures, &pid);
	bpf_map_delete_elem(&host_failures, &pid);
	return 0;
}

static __always_inline int on_move(struct cgroup *to, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	__u64 target;

	if (follow_descendants)
		return 0;
	/* Moves in other v1 hierarchies fire as well. Only a move within the hierarchy of the memory
	 * controller counts. */
	if (BPF_CORE_READ(memory_css(leader), cgroup) != to)
		return 0;
	/* The previous cgroup is not known here, only to the collector. So moves out of all targets are sent,
	 * too. */
	target = target_of(leader);
	if (!target)
		forget_mappings(BPF_CORE_READ(leader, tgid));
	return send_placed(MS_EVENT_MOVE, leader, target);
}

static __always_inline int on_cgroups_changed(void)
{
	struct ms_header *h = begin_event(MS_EVENT_CGROUPS_CHANGED, sizeof(*h));

	if (h)
		send_event(h, true);
	return 0;
}

SEC("tp_btf/sched_process_fork") int BPF_PROG(tree_fork, struct task_struct *parent,
                                              struct task_struct *child)
{
	return on_fork(parent, child);
}

SEC("tp_btf/sched_process_exec") int BPF_PROG(tree_exec, struct task_struct *task, int old_pid,
                                              struct linux_binprm *bprm)
{
	return on_exec(task, bprm);
}

SEC("tp_btf/sched_process_exit") /* newer kernels pass whether the thread was the last one */
int BPF_PROG(tree_exit_group_dead, struct task_struct *task, bool group_dead)
{
	return group_dead ? on_process_exit(task, sum_threads) : 0;
}

SEC("tp_btf/sched_process_exit") /* older kernels: the last thread is recognized by the number of live
                                    threads, which is then 0. Two threads that exit at the same time can both
                                    read 0; the collector uses the first event. */
                                 int
                                 BPF_PROG(tree_exit_live_count, struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, live.counter) == 0 ? on_process_exit(task, sum_threads) : 0;
}

SEC("tp_btf/sched_process_exit") /* without bpf_loop() */
int BPF_PROG(tree_exit_live_count_bounded, struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, live.counter) == 0 ? on_process_exit(task, sum_threads_bounded)
	                                                      : 0;
}

SEC("tp_btf/cgroup_attach_task") int BPF_PROG(tree_move, struct cgroup *to, const char *path,
                                              struct task_struct *task)
{
	return on_move(to, task);
}

SEC("tp_btf/cgroup_mkdir") int BPF_PROG(tree_mkdir)
{
	return on_cgroups_changed();
}

SEC("tp_btf/cgroup_rmdir") int BPF_PROG(tree_rmdir)
{
	return on_cgroups_changed();
}

SEC("tp_btf/cgroup_rename") /* v1 only */
int BPF_PROG(tree_rename)
{
	return on_cgroups_changed();
}
