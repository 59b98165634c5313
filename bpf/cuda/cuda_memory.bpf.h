/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Evaluates the return of calls that allocate: what was allocated, or which failure is recorded. */
#ifndef MEMSCOPE_CUDA_MEMORY_BPF_H
#define MEMSCOPE_CUDA_MEMORY_BPF_H

#include "cuda/cuda_calls.bpf.h"
#include "deaths/failures.bpf.h"

/* Offsets in CUmemAllocationProp: type and id of the location. */
#define PROP_LOCATION_TYPE 8
#define PROP_LOCATION_ID   12
#define LOCATION_DEVICE    1

/* Wakes the collector, which then asks the driver how much memory is free and which processes hold the rest.
 * The collector reads all records at once, so a record that is dropped because the ring buffer is full costs
 * nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 10); /* the smallest size that is a multiple of every page size */
} cuda_refusals SEC(".maps");

/* Bytes that a process holds on a device, from the calls that were seen. */
static __always_inline __u64 held_bytes(const struct ms_cuda_process *process, __u32 pid, __s32 device)
{
	struct ms_cuda_account_key key = {.process = process->id, .pid = pid, .device = device};
	struct ms_cuda_account *account = bpf_map_lookup_elem(&cuda_accounts, &key);
	__s64 sum = 0;

	for (int i = 0; account && i < MS_CUDA_DEVICE_KINDS; i++)
		sum += account->bytes[i];
	return sum > 0 ? sum : 0;
}

static __always_inline void note_failure(struct ms_cuda_process *process, __u32 pid, __s32 device,
                                         enum ms_cuda_kind kind, __u64 bytes)
{
	struct ms_cuda_account *account = account_of(process, pid, device);
	struct ms_cuda_failure failure = {
	    .time_ns = bpf_ktime_get_boot_ns(), .bytes = bytes, .device = device, .kind = kind};

	if (!account)
		return;
	__sync_fetch_and_add(&account->failures, 1);
	account->failed_bytes = bytes;
	failure.held_bytes = held_bytes(process, pid, device);
	/* A process that started before memscope can hold memory whose device is not known. It is on this
	 * device if the process uses only one. */
	if (device != MS_CUDA_NO_DEVICE && !process->several_devices)
		failure.held_bytes += held_bytes(process, pid, MS_CUDA_NO_DEVICE);
	failure.has_uuid = account->has_uuid;
	__builtin_memcpy(failure.uuid, account->uuid, sizeof(failure.uuid));
	bpf_map_update_elem(&cuda_failures, &pid, &failure,
	                    BPF_ANY); /* if the map is full, this failure explains no death */
	bpf_ringbuf_output(&cuda_refusals, &pid, sizeof(pid), BPF_RB_FORCE_WAKEUP);
}

/* Forgets the failure after an allocation of at least that size has succeeded, because the failure does not
 * explain a later death. */
static __always_inline void forget_failure(__u32 pid, __u64 bytes)
{
	struct ms_cuda_failure *failure = bpf_map_lookup_elem(&cuda_failures, &pid);

	if (failure && bytes >= failure->bytes)
		bpf_map_delete_elem(&cuda_failures, &pid);
}

/* Fills in the size, kind, device and address of an allocation. True if it is to be counted. */
static __always_inline bool was_allocated(struct ms_cuda_process *process, __u32 pid,
                                          const struct cuda_call *begun, __u32 result,
                                          struct ms_cuda_live_key *key, struct ms_cuda_live *held)
{
	__u64 address;

	held->bytes = begun->arguments[1];
	held->kind = kind_of(begun->call);
	held->device = current_device(process);
	if (begun->call == MS_CUDA_ALLOC_PITCH) /* the driver chooses the width of a row */
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

/* cuMemCreate can also allocate host memory, which is pinned. */
static __always_inline bool was_created(struct ms_cuda_process *process, __u32 pid,
                                        const struct cuda_call *begun, __u32 result,
                                        struct ms_cuda_live_key *key, struct ms_cuda_live *held)
{
	__u32 location[2] = {};

	if (bpf_probe_read_user(location, sizeof(location),
	                        (void *)(begun->arguments[2] + PROP_LOCATION_TYPE))) {
		count_loss(MS_LOSS_GPU_UNREADABLE);
		return false;
	}
	held->bytes = begun->arguments[1];
	held->kind = MS_CUDA_KIND_VMM;
	held->device = known_device(location[1]);
	if (location[0] != LOCATION_DEVICE) {
		held->kind = MS_CUDA_KIND_PINNED_ALLOC;
		held->device = current_device(process);
	}
	if (result) {
		if (result == MS_CUDA_OUT_OF_MEMORY)
			note_failure(process, pid, held->device, held->kind, held->bytes);
		return false;
	}
	forget_failure(pid, held->bytes);
	held->uses = MS_CUDA_REFERENCE;
	held->created_ns = bpf_ktime_get_boot_ns();
	*key = key_of(process, pid, MS_CUDA_CREATE, result_at(begun->arguments[0]));
	return key->address;
}

#endif
