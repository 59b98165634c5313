/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* One call unmaps many mappings. */
#ifndef MEMSCOPE_GPU_UNMAP_BPF_H
#define MEMSCOPE_GPU_UNMAP_BPF_H

#include "gpu_handles.bpf.h"

#define UNMAP_STEPS         16384
#define UNMAP_STEPS_BOUNDED 4096 /* without bpf_loop() */
/* Where nothing is known at an address: memory of devices is mapped in such pieces, or larger ones. */
#define UNMAP_GRANULE (2ull << 20)

/* Not on the stack of the program: a step is a function that is verified by itself, once, wherever it is
 * called from. Only kernels without bpf_loop() need that, and those do not preempt a program at a user probe.
 */
struct unmap_walk {
	struct ms_gpu_process process;
	__u64 at;
	__u64 end;
	__u32 pid;
	__u32 pad;
	/* Of a step: in those kernels its stack and that of its caller together are too small. */
	struct ms_gpu_live_key key;
	struct ms_gpu_live held;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unmap_walk);
} unmap_walks SEC(".maps");

static __always_inline bool unmap_next(struct unmap_walk *walk)
{
	__u64 bytes;

	if (walk->at >= walk->end)
		return false;
	bytes = forget_mapping(&walk->process, walk->pid, walk->at, &walk->key, &walk->held);
	walk->at += bytes ? bytes : UNMAP_GRANULE;
	return true;
}

static long unmap_in_loop(__u32 index, struct unmap_walk *walk)
{
	return !unmap_next(walk);
}

__noinline int unmap_step(void)
{
	__u32 first = 0;
	struct unmap_walk *walk = bpf_map_lookup_elem(&unmap_walks, &first);

	return walk && unmap_next(walk);
}

static __always_inline void begin_walk(struct unmap_walk *walk, const struct ms_gpu_process *process,
                                       __u32 pid, const struct gpu_call *begun)
{
	walk->process = *process;
	walk->at = begun->arguments[0];
	walk->end = begun->arguments[0] + begun->arguments[1];
	walk->pid = pid;
}

static __always_inline bool unmap_in_steps(const struct ms_gpu_process *process, __u32 pid,
                                           const struct gpu_call *begun)
{
	__u32 first = 0;
	struct unmap_walk *walk = bpf_map_lookup_elem(&unmap_walks, &first);

	if (!walk)
		return false;
	begin_walk(walk, process, pid, begun);
	for (int i = 0; i < UNMAP_STEPS_BOUNDED; i++)
		if (!unmap_step())
			break;
	return walk->at >= walk->end;
}

static __always_inline bool unmap_at_once(const struct ms_gpu_process *process, __u32 pid,
                                          const struct gpu_call *begun)
{
	struct unmap_walk walk = {};

	begin_walk(&walk, process, pid, begun);
	bpf_loop(UNMAP_STEPS, unmap_in_loop, &walk, 0);
	return walk.at >= walk.end;
}

/* A range of whole mappings. Its addresses are the caller's own, so nobody maps there before it has returned.
 */
static __always_inline void after_unmap(struct ms_gpu_process *process, __u32 pid,
                                        const struct gpu_call *begun, bool bounded)
{
	if (!(bounded ? unmap_in_steps(process, pid, begun) : unmap_at_once(process, pid, begun)))
		count_loss(MS_LOSS_GPU_UNMAP_CUT);
}

#endif
