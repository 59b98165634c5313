/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Physical memory by its handle (cuMemCreate): one process can refer to a handle several times, map it
 * several times or not at all, and release it while it is mapped. The memory is free when all of that is
 * gone.
 *
 * A handle that cuMemCreate was not seen for is unknown: it was imported, so that its memory is in the sums
 * of the process that made it, or it is older than memscope, as other allocations of that time are. Calls
 * with an unknown handle change nothing.
 */
#ifndef MEMSCOPE_GPU_HANDLES_BPF_H
#define MEMSCOPE_GPU_HANDLES_BPF_H

#include "gpu_calls.bpf.h"

/* NULL: the handle is unknown. */
static __always_inline struct ms_gpu_live *add_use(const struct ms_gpu_live_key *key, __u64 use)
{
	struct ms_gpu_live *handle = bpf_map_lookup_elem(&gpu_live, key);

	if (handle)
		__sync_fetch_and_add(&handle->uses, use);
	return handle;
}

static __always_inline bool has_use(const struct ms_gpu_live *handle, __u64 use)
{
	return use == MS_GPU_REFERENCE ? handle->uses >= MS_GPU_REFERENCE : (__u32)handle->uses > 0;
}

/* `created_ns`: of the handle that is meant; 0: whichever has the value now. */
static __always_inline enum gpu_taken drop_use(struct ms_gpu_process *process, __u32 pid,
                                               const struct ms_gpu_live_key *key, __u64 created_ns, __u64 use,
                                               struct ms_gpu_live *held)
{
	struct ms_gpu_live *handle = bpf_map_lookup_elem(&gpu_live, key);

	if (!handle || (created_ns && handle->created_ns != created_ns) || !has_use(handle, use))
		return GPU_TAKEN_NOTHING;
	__sync_fetch_and_add(&handle->uses, -use);
	/* Two threads may both see that nothing is left: the map lets only one of them delete. */
	if (*(volatile __u64 *)&handle->uses)
		return GPU_TAKEN_USE;
	return remove(process, pid, key, held) ? GPU_TAKEN_MEMORY : GPU_TAKEN_NOTHING;
}

/* Where cuMemMap begins: from here on the memory outlives its last reference, which another thread may
 * release before this call returns. */
static __always_inline void before_map(struct ms_gpu_process *process, __u32 pid, struct gpu_call *begun)
{
	struct ms_gpu_live_key key = key_of(process, pid, MS_CUDA_RELEASE, begun->arguments[3]);
	struct ms_gpu_live *handle = add_use(&key, MS_GPU_MAPPING);

	if (!handle)
		return;
	begun->taken.created_ns = handle->created_ns;
	begun->taken.device = handle->device;
	begun->taken.kind = handle->kind;
	begun->has_taken = GPU_TAKEN_USE;
}

/* What was known to be mapped there is not any more. Returns how many bytes it covered, 0: nothing was known.
 * `key` and `held` are scratch. */
static __always_inline __u64 forget_mapping(struct ms_gpu_process *process, __u32 pid, __u64 address,
                                            struct ms_gpu_live_key *key, struct ms_gpu_live *held)
{
	__u64 bytes, created_ns;

	*key = key_of(process, pid, MS_CUDA_UNMAP, address);
	if (!take_out(key, held))
		return 0;
	take_off(process, pid, key, held);
	bytes = held->bytes;
	created_ns = held->created_ns;
	*key = key_of(process, pid, MS_CUDA_RELEASE, held->handle);
	drop_use(process, pid, key, created_ns, MS_GPU_MAPPING, held);
	return bytes;
}

static __always_inline void after_map(struct ms_gpu_process *process, __u32 pid, struct gpu_call *begun,
                                      __u32 result)
{
	struct ms_gpu_live held;
	struct ms_gpu_live_key key;

	if (!begun->has_taken)
		return;
	if (!result) {
		forget_mapping(process, pid, begun->arguments[0], &key, &held);
		key = key_of(process, pid, MS_CUDA_MAP, begun->arguments[0]);
		begun->taken.bytes = begun->arguments[1];
		begun->taken.handle = begun->arguments[3];
		if (enter(process, pid, &key, &begun->taken))
			return;
	}
	key = key_of(process, pid, MS_CUDA_RELEASE, begun->arguments[3]);
	drop_use(process, pid, &key, begun->taken.created_ns, MS_GPU_MAPPING, &held);
}

/* As other frees: taken off where the call begins, since the driver may hand out the value again before it
 * returns. */
static __always_inline void before_release(struct ms_gpu_process *process, __u32 pid, struct gpu_call *begun)
{
	struct ms_gpu_live_key key = key_of(process, pid, MS_CUDA_RELEASE, begun->arguments[0]);

	begun->has_taken = drop_use(process, pid, &key, 0, MS_GPU_REFERENCE, &begun->taken);
}

static __always_inline void undo_release(const struct ms_gpu_live_key *key, const struct gpu_call *begun)
{
	if (begun->has_taken == GPU_TAKEN_USE)
		add_use(key, MS_GPU_REFERENCE);
}

/* cuMemRetainAllocationHandle, which returns the value of the handle again. An import may do so as well, in
 * the process that has made the memory. */
static __always_inline void after_retain(struct ms_gpu_process *process, __u32 pid,
                                         const struct gpu_call *begun)
{
	struct ms_gpu_live_key key = key_of(process, pid, MS_CUDA_RELEASE, result_at(begun->arguments[0]));

	add_use(&key, MS_GPU_REFERENCE);
}

#endif
