/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* cuMemUnmap: one call can unmap many mappings. */
#ifndef MEMSCOPE_CUDA_UNMAP_BPF_H
#define MEMSCOPE_CUDA_UNMAP_BPF_H

#include "cuda/cuda_handles.bpf.h"

#define UNMAP_STEPS         16384
#define UNMAP_STEPS_BOUNDED 4096 /* without bpf_loop() */
/* Step over addresses without a known mapping. Device memory is mapped in pieces of at least this size. */
#define UNMAP_GRANULE (2ull << 20)

/* In a map and not on the stack, because unmap_step() is a global function, which the verifier checks once,
 * by itself, for all its callers. Only kernels without bpf_loop() need the map, and those kernels do not
 * preempt a program at a user probe. */
struct unmap_walk {
	struct ms_cuda_process process;
	__u64 at;
	__u64 end;
	__u32 pid;
	__u32 pad;
	/* Scratch of one step, because in those kernels the stacks of the step and of its caller together are
	 * too small. */
	struct ms_cuda_live_key key;
	struct ms_cuda_live held;
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

static __always_inline void begin_walk(struct unmap_walk *walk, const struct ms_cuda_process *process,
                                       __u32 pid, const struct cuda_call *begun)
{
	walk->process = *process;
	walk->at = begun->arguments[0];
	walk->end = begun->arguments[0] + begun->arguments[1];
	walk->pid = pid;
}

static __always_inline bool unmap_in_steps(const struct ms_cuda_process *process, __u32 pid,
                                           const struct cuda_call *begun)
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

static __always_inline bool unmap_at_once(const struct ms_cuda_process *process, __u32 pid,
                                          const struct cuda_call *begun)
{
	struct unmap_walk walk = {};

	begin_walk(&walk, process, pid, begun);
	bpf_loop(UNMAP_STEPS, unmap_in_loop, &walk, 0);
	return walk.at >= walk.end;
}

/* The range consists of whole mappings. Its addresses stay reserved for the caller, so no other thread maps
 * there before the call returns. */
static __always_inline void after_unmap(struct ms_cuda_process *process, __u32 pid,
                                        const struct cuda_call *begun, bool bounded)
{
	if (!(bounded ? unmap_in_steps(process, pid, begun) : unmap_at_once(process, pid, begun)))
		count_loss(MS_LOSS_GPU_UNMAP_CUT);
}

#endif
