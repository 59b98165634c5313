/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What calls that take memory have taken, or not. */
#ifndef MEMSCOPE_GPU_MEMORY_BPF_H
#define MEMSCOPE_GPU_MEMORY_BPF_H

#include "gpu_calls.bpf.h"
#include "gpu_failures.bpf.h"

/* CUmemAllocationProp: the type and the number of the location. */
#define PROP_LOCATION_TYPE 8
#define PROP_LOCATION_ID   12
#define LOCATION_DEVICE    1

static __always_inline void note_failure(struct ms_gpu_process *process, __u32 pid, __s32 device,
                                         enum ms_gpu_kind kind, __u64 bytes)
{
	struct ms_gpu_account *account = account_of(process, pid, device);
	struct ms_gpu_failure failure = {
	    .time_ns = bpf_ktime_get_boot_ns(), .bytes = bytes, .device = device, .kind = kind};

	if (!account)
		return;
	__sync_fetch_and_add(&account->failures, 1);
	account->failed_bytes = bytes;
	failure.has_uuid = account->has_uuid;
	__builtin_memcpy(failure.uuid, account->uuid, sizeof(failure.uuid));
	bpf_map_update_elem(&gpu_failures, &pid, &failure, BPF_ANY); /* full: no death is explained by it */
}

/* As much was had after all: nothing ends for that failure any more. */
static __always_inline void forget_failure(__u32 pid, __u64 bytes)
{
	struct ms_gpu_failure *failure = bpf_map_lookup_elem(&gpu_failures, &pid);

	if (failure && bytes >= failure->bytes)
		bpf_map_delete_elem(&gpu_failures, &pid);
}

/* What a call has taken, and where: true if it is to be booked. */
static __always_inline bool was_allocated(struct ms_gpu_process *process, __u32 pid,
                                          const struct gpu_call *begun, __u32 result,
                                          struct ms_gpu_live_key *key, struct ms_gpu_live *held)
{
	__u64 address;

	held->bytes = begun->arguments[1];
	held->kind = kind_of(begun->call);
	held->device = current_device(process);
	if (begun->call == MS_CUDA_ALLOC_PITCH) /* each row as wide as the driver likes it */
		held->bytes =
		    (result ? begun->arguments[2] : result_at(begun->arguments[1])) * begun->arguments[3];
	if (result) {
		if (result == MS_CUDA_OUT_OF_MEMORY)
			note_failure(process, pid, held->device, held->kind, held->bytes);
		return false;
	}
	forget_failure(pid, held->bytes);
	address = begun->call == MS_CUDA_HOST_REGISTER ? begun->arguments[0] : result_at(begun->arguments[0]);
	*key = key_of(process, pid, begun->call, address);
	return address;
}

/* Memory of the host can be made this way, too: it is pinned then. */
static __always_inline void after_create(struct ms_gpu_process *process, __u32 pid,
                                         const struct gpu_call *begun, __u32 result)
{
	struct ms_gpu_live held = {.bytes = begun->arguments[1], .kind = MS_GPU_VMM};
	struct ms_gpu_live_key key;
	__u32 location[2] = {};

	if (bpf_probe_read_user(location, sizeof(location),
	                        (void *)(begun->arguments[2] + PROP_LOCATION_TYPE))) {
		count_loss(MS_LOSS_GPU_UNREADABLE);
		return;
	}
	held.device = known_device(location[1]);
	if (location[0] != LOCATION_DEVICE) {
		held.kind = MS_GPU_PINNED_ALLOC;
		held.device = current_device(process);
	}
	if (result) {
		if (result == MS_CUDA_OUT_OF_MEMORY)
			note_failure(process, pid, held.device, held.kind, held.bytes);
		return;
	}
	forget_failure(pid, held.bytes);
	key = key_of(process, pid, MS_CUDA_CREATE, result_at(begun->arguments[0]));
	enter(process, pid, &key, &held);
}

static __always_inline bool was_mapped(struct ms_gpu_process *process, __u32 pid,
                                       const struct gpu_call *begun, __u32 result,
                                       struct ms_gpu_live_key *key, struct ms_gpu_live *held)
{
	struct ms_gpu_live_key handle = key_of(process, pid, MS_CUDA_CREATE, begun->arguments[3]);
	struct ms_gpu_live *made = bpf_map_lookup_elem(&gpu_live, &handle);

	if (result)
		return false;
	if (!made) { /* another process's, which has it in its own books; or from before we were there */
		count_loss(MS_LOSS_GPU_HANDLE_UNKNOWN);
		return false;
	}
	held->bytes = begun->arguments[1];
	held->device = made->device;
	held->kind = made->kind;
	*key = key_of(process, pid, MS_CUDA_MAP, begun->arguments[0]);
	return true;
}

#endif
