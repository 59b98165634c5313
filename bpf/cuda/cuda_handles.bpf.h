/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Physical memory by its handle (cuMemCreate). A process can hold several references to a handle, map it
 * several times or not at all, and release it while it is mapped. The memory is freed when no reference and
 * no mapping is left.
 *
 * A handle is unknown if its cuMemCreate was not seen. Either it was imported, and its memory is in the sums
 * of the process that created it. Or it was created before memscope started, and its memory is missing like
 * other allocations of that time. Calls with an unknown handle change nothing.
 */
#ifndef MEMSCOPE_CUDA_HANDLES_BPF_H
#define MEMSCOPE_CUDA_HANDLES_BPF_H

#include "cuda/cuda_calls.bpf.h"

/* NULL if the handle is unknown. */
static __always_inline struct ms_cuda_live *add_use(const struct ms_cuda_live_key *key, __u64 use)
{
	struct ms_cuda_live *handle = bpf_map_lookup_elem(&cuda_live, key);

	if (handle)
		__sync_fetch_and_add(&handle->uses, use);
	return handle;
}

static __always_inline bool has_use(const struct ms_cuda_live *handle, __u64 use)
{
	return use == MS_CUDA_REFERENCE ? handle->uses >= MS_CUDA_REFERENCE : (__u32)handle->uses > 0;
}

/* `created_ns`: creation time of the handle, because the driver can reuse its value. 0: the handle that has
 * this value now. */
static __always_inline enum cuda_taken drop_use(struct ms_cuda_process *process, __u32 pid,
                                                const struct ms_cuda_live_key *key, __u64 created_ns,
                                                __u64 use, struct ms_cuda_live *held)
{
	struct ms_cuda_live *handle = bpf_map_lookup_elem(&cuda_live, key);

	if (!handle || (created_ns && handle->created_ns != created_ns) || !has_use(handle, use))
		return CUDA_TAKEN_NOTHING;
	__sync_fetch_and_add(&handle->uses, -use);
	/* Two threads can both see that no use is left. Only one of them succeeds in deleting the entry. */
	if (*(volatile __u64 *)&handle->uses)
		return CUDA_TAKEN_USE;
	return remove(process, pid, key, held) ? CUDA_TAKEN_MEMORY : CUDA_TAKEN_NOTHING;
}

/* At the entry of cuMemMap. From here on the memory outlives its last reference, which another thread can
 * release before this call returns. */
static __always_inline void before_map(struct ms_cuda_process *process, __u32 pid, struct cuda_call *begun)
{
	struct ms_cuda_live_key key = key_of(process, pid, MS_CUDA_RELEASE, begun->arguments[3]);
	struct ms_cuda_live *handle = add_use(&key, MS_CUDA_MAPPING);

	if (!handle)
		return;
	begun->taken.created_ns = handle->created_ns;
	begun->taken.device = handle->device;
	begun->taken.kind = handle->kind;
	begun->has_taken = CUDA_TAKEN_USE;
}

/* Removes the mapping at an address. Returns its size in bytes, 0 if no mapping was known. `key` and `held`
 * are scratch. */
static __always_inline __u64 forget_mapping(struct ms_cuda_process *process, __u32 pid, __u64 address,
                                            struct ms_cuda_live_key *key, struct ms_cuda_live *held)
{
	__u64 bytes, created_ns;

	*key = key_of(process, pid, MS_CUDA_UNMAP, address);
	if (!take_out(key, held))
		return 0;
	take_off(process, pid, key, held);
	bytes = held->bytes;
	created_ns = held->created_ns;
	*key = key_of(process, pid, MS_CUDA_RELEASE, held->handle);
	drop_use(process, pid, key, created_ns, MS_CUDA_MAPPING, held);
	return bytes;
}

static __always_inline void after_map(struct ms_cuda_process *process, __u32 pid, struct cuda_call *begun,
                                      __u32 result)
{
	struct ms_cuda_live held;
	struct ms_cuda_live_key key;

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
	drop_use(process, pid, &key, begun->taken.created_ns, MS_CUDA_MAPPING, &held);
}

/* Drops the reference at the entry of the call, because the driver can reuse the value of the handle before
 * the call returns. */
static __always_inline void before_release(struct ms_cuda_process *process, __u32 pid,
                                           struct cuda_call *begun)
{
	struct ms_cuda_live_key key = key_of(process, pid, MS_CUDA_RELEASE, begun->arguments[0]);

	begun->has_taken = drop_use(process, pid, &key, 0, MS_CUDA_REFERENCE, &begun->taken);
}

static __always_inline void undo_release(const struct ms_cuda_live_key *key, const struct cuda_call *begun)
{
	if (begun->has_taken == CUDA_TAKEN_USE)
		add_use(key, MS_CUDA_REFERENCE);
}

/* cuMemRetainAllocationHandle returns the value of an existing handle. An import can do so as well, in the
 * process that created the memory. */
static __always_inline void after_retain(struct ms_cuda_process *process, __u32 pid,
                                         const struct cuda_call *begun)
{
	struct ms_cuda_live_key key = key_of(process, pid, MS_CUDA_RELEASE, result_at(begun->arguments[0]));

	add_use(&key, MS_CUDA_REFERENCE);
}

#endif
