/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Memory that processes hold from the CUDA driver: each live allocation, the sums of each process on each
 * device, and the sums of each call stack. An allocation that is not in cuda_live is in none of the sums, so
 * that a free subtracts only what was added.
 */
#ifndef MEMSCOPE_CUDA_ACCOUNTS_BPF_H
#define MEMSCOPE_CUDA_ACCOUNTS_BPF_H

#include "processes/membership.bpf.h"
#include "shared/loss.bpf.h"
#include <memscope/shared/cuda.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_CUDA_ACCOUNTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct ms_cuda_process);
} cuda_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_CUDA_ACCOUNTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ms_cuda_account_key);
	__type(value, struct ms_cuda_account);
} cuda_accounts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_CUDA_LIVE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ms_cuda_live_key);
	__type(value, struct ms_cuda_live);
} cuda_live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_CUDA_SITES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ms_cuda_site_key);
	__type(value, __s64);
} cuda_sites SEC(".maps");

/* Number of entries in cuda_live. The collector deletes the entries that no longer belong to an account. */
__s64 cuda_live_entries = 0;

static const struct ms_cuda_account no_account = {};

/* Entry of the current process. NULL if the process is not watched, or if the map is full. */
static __always_inline struct ms_cuda_process *cuda_process(__u32 pid)
{
	struct ms_cuda_process *known = bpf_map_lookup_elem(&cuda_processes, &pid);
	struct task_struct *task = (void *)bpf_get_current_task();
	struct ms_cuda_process fresh = {.device = MS_CUDA_NO_DEVICE};

	if (known)
		return known;
	if (!target_of(task) || pid == watcher_pid)
		return NULL;
	fresh.id = bpf_ktime_get_boot_ns();
	fresh.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	bpf_map_update_elem(&cuda_processes, &pid, &fresh, BPF_NOEXIST);
	known = bpf_map_lookup_elem(&cuda_processes, &pid);
	if (!known)
		count_loss(MS_LOSS_GPU_ACCOUNTS_FULL);
	return known;
}

static __always_inline struct ms_cuda_account *account_of(const struct ms_cuda_process *process, __u32 pid,
                                                          __s32 device)
{
	struct ms_cuda_account_key key = {.process = process->id, .pid = pid, .device = device};
	struct ms_cuda_account *account = bpf_map_lookup_elem(&cuda_accounts, &key);

	if (account)
		return account;
	bpf_map_update_elem(&cuda_accounts, &key, &no_account, BPF_NOEXIST);
	account = bpf_map_lookup_elem(&cuda_accounts, &key);
	if (account)
		account->start_ns = process->start_ns;
	else
		count_loss(MS_LOSS_GPU_ACCOUNTS_FULL);
	return account;
}

/* False if cuda_sites has no entry for the stack. The bytes are then attributed to no stack. */
static __always_inline bool add_to_site(const struct ms_cuda_process *process, __u32 pid,
                                        const struct ms_cuda_live *held, __s64 bytes)
{
	struct ms_cuda_site_key key = {.process = process->id,
	                               .stack = held->stack,
	                               .generation = held->generation,
	                               .pid = pid,
	                               .device = held->device,
	                               .kind = held->kind};
	__s64 *sum = bpf_map_lookup_elem(&cuda_sites, &key);

	if (!sum && bytes > 0) {
		if (bpf_map_update_elem(&cuda_sites, &key, &bytes, BPF_NOEXIST) == 0)
			return true;
		sum = bpf_map_lookup_elem(&cuda_sites, &key);
	}
	if (!sum)
		return false;
	__sync_fetch_and_add(sum, bytes);
	return true;
}

/* Physical memory is counted once, for its handle. The mappings of the handle take no further memory. */
static __always_inline bool holds_memory(const struct ms_cuda_live_key *key)
{
	return key->kind_of_address != MS_CUDA_MAPPED;
}

/* Subtracts an allocation from the sums. False if it is in no sum any more, because its generation has
 * ended. */
static __always_inline bool take_off(const struct ms_cuda_process *process, __u32 pid,
                                     const struct ms_cuda_live_key *its_key, const struct ms_cuda_live *held)
{
	struct ms_cuda_account_key key = {.process = process->id, .pid = pid, .device = held->device};
	struct ms_cuda_account *account = bpf_map_lookup_elem(&cuda_accounts, &key);
	__u32 kind = held->kind;

	if (!account || account->generation != held->generation || kind >= MS_CUDA_KIND_COUNT)
		return false;
	__sync_fetch_and_add(&account->live, -1);
	if (!holds_memory(its_key))
		return true;
	__sync_fetch_and_add(&account->bytes[kind], -held->bytes);
	if (held->stack)
		add_to_site(process, pid, held, -held->bytes);
	return true;
}

/* Adds an allocation. If the address already has an entry, the probes have missed the free of that earlier
 * allocation. False if a map is full. */
static __always_inline bool enter(struct ms_cuda_process *process, __u32 pid,
                                  const struct ms_cuda_live_key *key, struct ms_cuda_live *held)
{
	struct ms_cuda_live *before = bpf_map_lookup_elem(&cuda_live, key);
	struct ms_cuda_account *account = account_of(process, pid, held->device);
	__u32 kind = held->kind;

	if (!account || kind >= MS_CUDA_KIND_COUNT)
		return false;
	held->generation = account->generation;
	if (before)
		take_off(process, pid, key, before);
	if (held->stack && !add_to_site(process, pid, held, held->bytes)) {
		held->stack = 0;
		count_loss(MS_LOSS_GPU_SITES_FULL);
	}
	if (bpf_map_update_elem(&cuda_live, key, held, BPF_ANY)) {
		count_loss(MS_LOSS_GPU_LIVE_FULL);
		if (before && bpf_map_delete_elem(&cuda_live, key) == 0)
			__sync_fetch_and_add(&cuda_live_entries, -1);
		if (holds_memory(key))
			__sync_fetch_and_add(&account->lost_bytes, held->bytes);
		if (held->stack)
			add_to_site(process, pid, held, -held->bytes);
		return false;
	}
	if (!before)
		__sync_fetch_and_add(&cuda_live_entries, 1);
	__sync_fetch_and_add(&account->live, 1);
	if (holds_memory(key))
		__sync_fetch_and_add(&account->bytes[kind], held->bytes);
	return true;
}

/* Moves an entry from cuda_live to `held`. False if there is none, or if another thread removed it first. */
static __always_inline bool take_out(const struct ms_cuda_live_key *key, struct ms_cuda_live *held)
{
	struct ms_cuda_live *known = bpf_map_lookup_elem(&cuda_live, key);

	if (!known)
		return false;
	__builtin_memcpy(held, known, sizeof(*held));
	if (bpf_map_delete_elem(&cuda_live, key))
		return false;
	__sync_fetch_and_add(&cuda_live_entries, -1);
	return true;
}

/* Moves an entry from cuda_live to `held` and subtracts it from the sums. False if it was in no sum. */
static __always_inline bool remove(struct ms_cuda_process *process, __u32 pid,
                                   const struct ms_cuda_live_key *key, struct ms_cuda_live *held)
{
	return take_out(key, held) && take_off(process, pid, key, held);
}

/* When the last context of a process on a device ends, its memory there is gone without a call to free. */
static __always_inline void end_generation(struct ms_cuda_account *account)
{
	account->generation++;
	for (int i = 0; i < MS_CUDA_KIND_COUNT; i++)
		account->bytes[i] = 0;
	account->live = 0;
}

#endif
