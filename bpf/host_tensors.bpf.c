// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Follows the storages of PyTorch's host tensors, with user probes at the entry of three functions that its
 * allocator calls: New(this, address, bytes) after an allocation, Delete(this, address) before a free, and
 * OutOfMemory(this, bytes). The programs run in every process that has the library mapped, watched or not.
 *
 * A storage belongs to an address space. A forked child has an address space of its own, so a free in the
 * child removes no storage of the parent. The collector deletes the entries of address spaces that are gone.
 */
#include "deaths/failures.bpf.h"
#include "shared/user_calls.bpf.h"
#include "stacks/user_stacks.bpf.h"
#include <memscope/shared/host_tensors.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_HOST_ACCOUNTS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ms_host_account_key);
	__type(value, struct ms_host_account);
} host_accounts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_HOST_STORAGES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ms_host_storage_key);
	__type(value, struct ms_host_storage);
} host_storages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_HOST_SITES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ms_host_site_key);
	__type(value, struct ms_host_site);
} host_sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_HOST_CALLS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ms_host_calls_key);
	__type(value, struct ms_host_calls);
} host_calls SEC(".maps");

/* 0 while the recording is paused. A probe can still run for a while after that, until it is detached. */
__u32 recording = 1;
__u32 period = 0;
/* Number of the collector's next reading of host_calls, from 1 on. */
__u32 reading = 1;
/* Calls of New and of all three functions by watched processes, and the time that the programs took. */
__u64 storages_allocated = 0;
__u64 calls = 0;
__u64 call_ns = 0;
/* Number of entries in host_storages. */
__s64 storage_entries = 0;

static __always_inline struct ms_host_account *account_of(const struct ms_host_account_key *key,
                                                          const struct ms_space *space, __u32 pid)
{
	struct ms_host_account *known = bpf_map_lookup_elem(&host_accounts, key);
	struct ms_host_account fresh = {.start_ns = space->start_ns, .pid = pid};

	if (known)
		return known;
	bpf_map_update_elem(&host_accounts, key, &fresh, BPF_NOEXIST);
	known = bpf_map_lookup_elem(&host_accounts, key);
	if (!known)
		count_loss(MS_LOSS_HOST_ACCOUNTS_FULL);
	return known;
}

/* Updates `low`, `high` and `fall` of the current reading after a free. If another CPU allocates or frees at
 * the same calls at this moment, `bytes` may include its change, or one CPU may overwrite the update of the
 * other. */
static __always_inline void note_free(struct ms_host_calls *calls, __s64 freed)
{
	__s64 bytes = *(volatile __s64 *)&calls->bytes;
	__u32 number = *(volatile __u32 *)&reading;
	struct ms_host_frees *frees = &calls->frees[number % 2];

	if (frees->reading != number) {
		frees->low = bytes;
		frees->high = bytes + freed;
		frees->fall = freed;
		frees->reading = number;
		return;
	}
	if (frees->low > bytes)
		frees->low = bytes;
	if (frees->high < bytes + freed)
		frees->high = bytes + freed;
	if (frees->fall < frees->high - bytes)
		frees->fall = frees->high - bytes;
}

/* `bytes`: start value of the entry if it does not exist yet. */
static __always_inline struct ms_host_calls *calls_of(const struct ms_host_account_key *account, __u64 calls,
                                                      __s64 bytes)
{
	struct ms_host_calls_key key = {.account = *account, .calls = calls};
	struct ms_host_calls *known = bpf_map_lookup_elem(&host_calls, &key);
	struct ms_host_calls fresh = {.bytes = bytes};

	if (known)
		return known;
	bpf_map_update_elem(&host_calls, &key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&host_calls, &key);
}

/* Returns NULL if there is no room for the stack or for its calls. */
static __always_inline struct ms_host_site *new_site(const struct ms_host_site_key *key, __u64 calls)
{
	struct ms_host_site fresh = {.calls = calls};

	/* The calls come first, so that the collector finds the calls of each site. */
	if (!calls_of(&key->account, calls, 0))
		return NULL;
	bpf_map_update_elem(&host_sites, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&host_sites, key);
}

/* False if the stack has no entry. The bytes are then attributed to no stack. */
static __always_inline bool add_to_site(const struct ms_host_account_key *account,
                                        const struct user_stack *stack, __s64 bytes)
{
	struct ms_host_site_key key = {.account = *account, .stack = stack->id};
	struct ms_host_site *site = bpf_map_lookup_elem(&host_sites, &key);
	struct ms_host_calls *calls;

	if (!site && bytes > 0)
		site = new_site(&key, stack->calls);
	if (!site)
		return false;
	calls = calls_of(account, site->calls, site->bytes);
	__sync_fetch_and_add(&site->bytes, bytes);
	if (!calls)
		return true;
	__sync_fetch_and_add(&calls->bytes, bytes);
	if (bytes < 0)
		note_free(calls, -bytes);
	return true;
}

static __always_inline void remove_from_site(const struct ms_host_account_key *account, __u64 stack,
                                             __s64 bytes)
{
	struct user_stack freed = {.id = stack};

	if (stack)
		add_to_site(account, &freed, -bytes);
}

/* Removes a storage and subtracts it from the sums. Does nothing if the storage is not known, because it was
 * allocated before the recording began, or by the parent of the process. */
static __always_inline void remove_storage(struct ms_host_account *account,
                                           const struct ms_host_storage_key *key)
{
	const struct ms_host_storage *known = bpf_map_lookup_elem(&host_storages, key);
	struct ms_host_storage storage;

	if (!known)
		return;
	__builtin_memcpy(&storage, known, sizeof(storage));
	if (bpf_map_delete_elem(&host_storages, key)) /* another thread has deleted it first */
		return;
	__sync_fetch_and_add(&storage_entries, -1);
	__sync_fetch_and_add(&account->bytes, -storage.bytes);
	__sync_fetch_and_add(&account->storages, -1);
	remove_from_site(&key->account, storage.stack, storage.bytes);
}

static __always_inline void add_storage(struct ms_host_account *account,
                                        const struct ms_host_storage_key *key, const struct user_stack *stack,
                                        __u64 bytes)
{
	struct ms_host_storage storage = {.bytes = bytes, .stack = stack->id};

	/* If the address is known, the probes have missed the free of its earlier storage. */
	remove_storage(account, key);
	if (stack->id && !add_to_site(&key->account, stack, bytes)) {
		storage.stack = MS_STACK_OTHER;
		count_loss(MS_LOSS_HOST_SITES_FULL);
	}
	if (bpf_map_update_elem(&host_storages, key, &storage, BPF_NOEXIST)) {
		count_loss(MS_LOSS_HOST_TENSORS_FULL);
		__sync_fetch_and_add(&account->lost_bytes, bytes);
		remove_from_site(&key->account, storage.stack, bytes);
		return;
	}
	__sync_fetch_and_add(&storage_entries, 1);
	__sync_fetch_and_add(&account->bytes, bytes);
	__sync_fetch_and_add(&account->storages, 1);
}

/* The address space of the current process, if the process is watched and the recording is not paused. */
static __always_inline struct ms_space *recorded_space(__u32 pid)
{
	return recording ? bpf_map_lookup_elem(&spaces, &pid) : NULL;
}

static __always_inline void count_call(__u64 began)
{
	__sync_fetch_and_add(&calls, 1);
	__sync_fetch_and_add(&call_ns, bpf_ktime_get_ns() - began);
}

static __always_inline int on_new(struct pt_regs *ctx, bool bounded)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ms_space *space = recorded_space(pid);
	struct ms_host_storage_key key = {.address = call_argument_2(ctx)};
	__u64 bytes = call_argument_3(ctx);
	struct ms_host_account *account;
	struct user_stack stack;
	__u64 began;

	if (!space || !key.address || !bytes)
		return 0;
	began = bpf_ktime_get_ns();
	key.account.space = space->id;
	key.account.period = period;
	account = account_of(&key.account, space, pid);
	if (account) {
		if (account->failed_bytes && bytes >= account->failed_bytes) {
			account->failed_bytes = 0;
			bpf_map_delete_elem(&host_failures, &pid);
		}
		stack = user_stack(ctx, space, pid, MS_LOSS_HOST_SITES_FULL, bounded);
		add_storage(account, &key, &stack, bytes);
	}
	__sync_fetch_and_add(&storages_allocated, 1);
	count_call(began);
	return 0;
}

SEC("uprobe") int host_new(struct pt_regs *ctx)
{
	return on_new(ctx, false);
}

SEC("uprobe") /* without bpf_loop() */
int host_new_bounded(struct pt_regs *ctx)
{
	return on_new(ctx, true);
}

SEC("uprobe") int host_delete(struct pt_regs *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ms_space *space = recorded_space(pid);
	struct ms_host_storage_key key = {.address = call_argument_2(ctx)};
	struct ms_host_account *account;
	__u64 began;

	if (!space)
		return 0;
	began = bpf_ktime_get_ns();
	key.account.space = space->id;
	key.account.period = period;
	account = bpf_map_lookup_elem(&host_accounts, &key.account);
	if (account)
		remove_storage(account, &key);
	count_call(began);
	return 0;
}

/* This probe is attached while the recording is paused, too. */
SEC("uprobe") int host_out_of_memory(struct pt_regs *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct ms_space *space = bpf_map_lookup_elem(&spaces, &pid);
	struct ms_host_failure failure = {.time_ns = bpf_ktime_get_boot_ns(), .bytes = call_argument_2(ctx)};
	struct ms_host_account_key key = {};
	struct ms_host_account *account = NULL;

	if (!space)
		return 0;
	key.space = space->id;
	key.period = period;
	if (recording)
		account = account_of(&key, space, pid);
	if (account) {
		account->failed_bytes = failure.bytes;
		__sync_fetch_and_add(&account->failures, 1);
	}
	if (bpf_map_update_elem(&host_failures, &pid, &failure, BPF_ANY))
		count_loss(MS_LOSS_HOST_ACCOUNTS_FULL);
	return 0;
}
