/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A call of the CUDA driver between its entry and its return, and the properties of each called function. */
#ifndef MEMSCOPE_CUDA_CALLS_BPF_H
#define MEMSCOPE_CUDA_CALLS_BPF_H

#include "cuda/cuda_contexts.bpf.h"

/* What a call has removed at its entry. It is restored if the call fails. */
enum cuda_taken {
	CUDA_TAKEN_NOTHING,
	CUDA_TAKEN_MEMORY, /* an entry of cuda_live */
	CUDA_TAKEN_USE,    /* one use of a handle was dropped; for cuMemMap: added */
};

struct cuda_call {
	__u64 time_ns;
	__u64 stack_pointer;
	__u64 arguments[5];
	struct ms_cuda_live taken;
	__u32 call;
	__u32 has_taken; /* enum cuda_taken */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64); /* thread */
	__type(value, struct cuda_call);
} cuda_calls SEC(".maps");

static __always_inline enum ms_cuda_class class_of(__u32 call)
{
	switch (call) {
	case MS_CUDA_HOST_ALLOC:
	case MS_CUDA_HOST_FREE:
	case MS_CUDA_HOST_REGISTER:
	case MS_CUDA_HOST_UNREGISTER:
		return MS_CUDA_OF_HOST;
	case MS_CUDA_CREATE:
	case MS_CUDA_RELEASE:
		return MS_CUDA_HANDLE;
	case MS_CUDA_MAP:
	case MS_CUDA_UNMAP:
		return MS_CUDA_MAPPED;
	default:
		return MS_CUDA_OF_DEVICE;
	}
}

static __always_inline enum ms_cuda_kind kind_of(__u32 call)
{
	switch (call) {
	case MS_CUDA_ALLOC_ASYNC:
		return MS_CUDA_KIND_POOL;
	case MS_CUDA_ALLOC_MANAGED:
		return MS_CUDA_KIND_MANAGED;
	case MS_CUDA_HOST_ALLOC:
		return MS_CUDA_KIND_PINNED_ALLOC;
	case MS_CUDA_HOST_REGISTER:
		return MS_CUDA_KIND_PINNED_REGISTER;
	case MS_CUDA_CREATE:
		return MS_CUDA_KIND_VMM;
	default:
		return MS_CUDA_KIND_ALLOC;
	}
}

static __always_inline bool frees(__u32 call)
{
	return call == MS_CUDA_FREE || call == MS_CUDA_HOST_FREE || call == MS_CUDA_HOST_UNREGISTER;
}

static __always_inline struct ms_cuda_live_key key_of(const struct ms_cuda_process *process, __u32 pid,
                                                      __u32 call, __u64 address)
{
	return (struct ms_cuda_live_key){
	    .process = process->id, .address = address, .pid = pid, .kind_of_address = class_of(call)};
}

/* Reads a number that the call has written to the given address. */
static __always_inline __u64 result_at(__u64 address)
{
	__u64 result = 0;

	if (bpf_probe_read_user(&result, sizeof(result), (void *)address))
		count_loss(MS_LOSS_GPU_UNREADABLE);
	return result;
}

#endif
