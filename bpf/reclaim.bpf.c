// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Measures reclaim stalls of the threads of a target: at the limit of a cgroup (memcg), or because the host
 * is short of memory (direct). Both tracepoints fire in the thread that waits. Background reclaim by kswapd
 * stalls no thread, and the sleep that memory.high imposes is not reclaim.
 */
#include "processes/membership.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* By thread id, while the thread is stalled. Preallocated, because it is needed when memory is short. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_STALLED_THREADS);
	__type(key, __u32);
	__type(value, struct ms_stall);
} stalled SEC(".maps");

/* By target. The collector adds an entry before it watches the target and removes it when the target ends. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct ms_reclaim);
} reclaim SEC(".maps");

/* If the thread already has a stall, its end was missed or the stalls are nested. The new stall replaces it,
 * so that no time is counted twice. */
static __always_inline int on_begin(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 id = bpf_get_current_pid_tgid();
	struct ms_stall stall = {};
	__u32 thread = id;

	if (is_own(task, id >> 32))
		return 0;
	stall.target = target_of(task);
	if (!stall.target)
		return 0;
	stall.thread_start_ns = BPF_CORE_READ(task, start_boottime);
	stall.since_ns = bpf_ktime_get_boot_ns();
	if (bpf_map_update_elem(&stalled, &thread, &stall, BPF_ANY))
		count_loss(MS_LOSS_STALLS_FULL);
	return 0;
}

static __always_inline void count_stall(const struct ms_stall *stall, enum ms_reclaim_by why)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct ms_reclaim *counted = bpf_map_lookup_elem(&reclaim, &stall->target);

	if (!counted || stall->thread_start_ns != BPF_CORE_READ(task, start_boottime))
		return;
	__sync_fetch_and_add(&counted->stalled_ns[why], bpf_ktime_get_boot_ns() - stall->since_ns);
	__sync_fetch_and_add(&counted->stalls[why], 1);
}

/* An end without a begin is from a thread that is not watched, or that was already stalled when memscope
 * started. */
static __always_inline int on_end(enum ms_reclaim_by why)
{
	__u32 thread = bpf_get_current_pid_tgid();
	struct ms_stall *stall = bpf_map_lookup_elem(&stalled, &thread);

	if (!stall)
		return 0;
	count_stall(stall, why);
	bpf_map_delete_elem(&stalled, &thread);
	return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin") int BPF_PROG(reclaim_memcg_begin)
{
	return on_begin();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end") int BPF_PROG(reclaim_memcg_end)
{
	return on_end(MS_RECLAIM_MEMCG);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin") int BPF_PROG(reclaim_direct_begin)
{
	return on_begin();
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end") int BPF_PROG(reclaim_direct_end)
{
	return on_end(MS_RECLAIM_DIRECT);
}
