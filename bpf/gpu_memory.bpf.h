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

/* Wakes the collector, which then asks the driver what is free and who holds the rest. The collector takes
 * all records at once, so one that finds the ring full has nothing to add. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 10); /* the smallest that pages of any size divide */
} gpu_refusals SEC(".maps");

/* What a process holds on a device by its calls. */
static __always_inline __u64 held_bytes(const struct ms_gpu_process *process, __u32 pid, __s32 device)
{
	struct ms_gpu_account_key key = {.process = process->id, .pid = pid, .device = device};
	struct ms_gpu_account *account = bpf_map_lookup_elem(&gpu_accounts, &key);
	__s64 sum = 0;

	for (int i = 0; account && i < MS_GPU_DEVICE_KINDS; i++)
		sum += account->bytes[i];
	return sum > 0 ? sum : 0;
}

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
	failure.held_bytes = held_bytes(process, pid, device);
	/* Of a process that is older than memscope: what it took before it told which device it works on. */
	if (device != MS_GPU_NO_DEVICE && !process->several_devices)
		failure.held_bytes += held_bytes(process, pid, MS_GPU_NO_DEVICE);
	failure.has_uuid = account->has_uuid;
	__builtin_memcpy(failure.uuid, account->uuid, sizeof(failure.uuid));
	bpf_map_update_elem(&gpu_failures, &pid, &failure, BPF_ANY); /* full: no death is explained by it */
	bpf_ringbuf_output(&gpu_refusals, &pid, sizeof(pid), BPF_RB_FORCE_WAKEUP);
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
static __always_inline bool was_created(struct ms_gpu_process *process, __u32 pid,
                                        const struct gpu_call *begun, __u32 result,
                                        struct ms_gpu_live_key *key, struct ms_gpu_live *held)
{
	__u32 location[2] = {};

	if (bpf_probe_read_user(location, sizeof(location),
	                        (void *)(begun->arguments[2] + PROP_LOCATION_TYPE))) {
		count_loss(MS_LOSS_GPU_UNREADABLE);
		return false;
	}
	held->bytes = begun->arguments[1];
	held->kind = MS_GPU_VMM;
	held->device = known_device(location[1]);
	if (location[0] != LOCATION_DEVICE) {
		held->kind = MS_GPU_PINNED_ALLOC;
		held->device = current_device(process);
	}
	if (result) {
		if (result == MS_CUDA_OUT_OF_MEMORY)
			note_failure(process, pid, held->device, held->kind, held->bytes);
		return false;
	}
	forget_failure(pid, held->bytes);
	held->uses = MS_GPU_REFERENCE;
	held->created_ns = bpf_ktime_get_boot_ns();
	*key = key_of(process, pid, MS_CUDA_CREATE, result_at(begun->arguments[0]));
	return key->address;
}

#endif
