/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Finds the device on which a thread allocates, which is the device of its current CUDA context. */
#ifndef MEMSCOPE_CUDA_CONTEXTS_BPF_H
#define MEMSCOPE_CUDA_CONTEXTS_BPF_H

#include "cuda/cuda_accounts.bpf.h"

struct cuda_context_key {
	__u64 process;
	__u64 context;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct cuda_context_key);
	__type(value, __s32); /* device */
} cuda_contexts SEC(".maps");

/* Each thread has a stack of contexts. The devices of contexts beyond this depth are not known. */
#define CONTEXTS_NESTED 8 /* a power of two: indexes are masked */

struct thread_contexts {
	__u64 process;
	__u32 depth;
	__s32 devices[CONTEXTS_NESTED];
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64); /* thread */
	__type(value, struct thread_contexts);
} cuda_threads SEC(".maps");

/* Checks a device number that a process passes, because a process can pass any number. */
static __always_inline __s32 known_device(__s32 said)
{
	return said >= 0 && said < MS_CUDA_DEVICES ? said : MS_CUDA_NO_DEVICE;
}

static __always_inline __s32 device_of_context(const struct ms_cuda_process *process, __u64 context)
{
	struct cuda_context_key key = {.process = process->id, .context = context};
	__s32 *device = bpf_map_lookup_elem(&cuda_contexts, &key);

	return device ? *device : MS_CUDA_NO_DEVICE;
}

static __always_inline void know_context(struct ms_cuda_process *process, __u64 context, __s32 device)
{
	struct cuda_context_key key = {.process = process->id, .context = context};

	bpf_map_update_elem(&cuda_contexts, &key, &device, BPF_ANY);
	if (process->device == MS_CUDA_NO_DEVICE)
		process->device = device;
	else if (process->device != device)
		process->several_devices = 1;
}

static __always_inline struct thread_contexts *contexts_of_thread(const struct ms_cuda_process *process)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct thread_contexts *known = bpf_map_lookup_elem(&cuda_threads, &thread);
	struct thread_contexts fresh = {.process = process->id};

	if (known && known->process == process->id)
		return known;
	bpf_map_update_elem(&cuda_threads, &thread, &fresh,
	                    BPF_ANY); /* LRU map: the oldest entry is evicted */
	return bpf_map_lookup_elem(&cuda_threads, &thread);
}

static __always_inline void push_context(const struct ms_cuda_process *process, __s32 device)
{
	struct thread_contexts *its = contexts_of_thread(process);

	if (!its)
		return;
	if (its->depth < CONTEXTS_NESTED)
		its->devices[its->depth & (CONTEXTS_NESTED - 1)] = device;
	its->depth++;
}

static __always_inline void pop_context(const struct ms_cuda_process *process)
{
	struct thread_contexts *its = contexts_of_thread(process);

	if (its && its->depth > 0)
		its->depth--;
}

/* Replaces the top of the context stack. */
static __always_inline void set_context(const struct ms_cuda_process *process, __u64 context)
{
	pop_context(process);
	if (context)
		push_context(process, device_of_context(process, context));
}

/* A thread without a known context is counted on the device of the process if the process uses only one. */
static __always_inline __s32 current_device(const struct ms_cuda_process *process)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct thread_contexts *its = bpf_map_lookup_elem(&cuda_threads, &thread);
	__s32 device = MS_CUDA_NO_DEVICE;

	if (its && its->process == process->id && its->depth > 0 && its->depth <= CONTEXTS_NESTED)
		device = its->devices[(its->depth - 1) & (CONTEXTS_NESTED - 1)];
	if (device == MS_CUDA_NO_DEVICE && !process->several_devices)
		device = process->device;
	return device;
}

/* By pid: processes whose calls have all been seen. The collector adds a process if it maps the driver while
 * it is watched. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64); /* start_ns of the process, as in ms_cuda_process */
} cuda_seen_from_start SEC(".maps");

/* When the last context of a process on a device ends, all its memory there is gone. Contexts that were
 * created before memscope started are not counted. For such a process the last context cannot be identified,
 * so its memory stays in the sums until the process exits, resets the device or frees the memory. */
static __always_inline void end_if_last(const struct ms_cuda_process *process, __u32 pid,
                                        struct ms_cuda_account *account)
{
	__u64 *start_ns = bpf_map_lookup_elem(&cuda_seen_from_start, &pid);

	if (start_ns && *start_ns == process->start_ns && account->contexts <= 0 && account->retains <= 0)
		end_generation(account);
}

#endif
