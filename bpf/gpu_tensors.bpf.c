// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Counts the tensors that PyTorch allocates and frees on GPUs, at the static probes (USDT) of its allocator.
 * The program runs often, and in every process that has the library mapped, watched or not, so it is kept
 * short.
 */
#include "processes/membership.bpf.h"
#include <memscope/shared/gpu_tensors.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The collector writes an entry before it attaches a probe with its number, and never changes it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MS_GPU_TENSOR_SITES);
	__type(key, __u32);
	__type(value, struct ms_gpu_tensor_site);
} gpu_tensor_sites SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_GPU_TENSOR_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct ms_gpu_tensor_process);
} gpu_tensor_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_GPU_TENSORS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ms_gpu_tensor_key);
	__type(value, struct ms_gpu_tensor);
} gpu_tensors SEC(".maps");

/* Number of entries in `gpu_tensors`. The collector deletes the entries of processes that have exited. */
__s64 gpu_tensor_entries = 0;

/* False if the operand could not be read. */
static __always_inline bool read_operand(void *regs, const struct ms_operand *operand, __u64 *value)
{
	__u32 bytes = operand->bytes, unused_bits = 64 - 8 * bytes;
	__u64 raw = 0, read[2] = {}, address;

	if (operand->kind == MS_OPERAND_CONSTANT) {
		*value = operand->number;
		return true;
	}
	/* The offset is not known when the program is loaded. A context field at a variable offset can be
	 * read only by this helper. */
	if (bpf_probe_read_kernel(&raw, sizeof(raw), regs + operand->register_at))
		return false;
	if (operand->kind == MS_OPERAND_MEMORY) {
		address = raw + operand->number;
		/* At most 8 bytes. The mask is for older verifiers, which do not keep the result of a
		 * comparison. */
		if (bpf_probe_read_user(read, bytes & (sizeof(read) - 1), (void *)address))
			return false;
		raw = read[0];
	}
	raw <<= unused_bits & 63;
	if (operand->is_signed)
		*value = (__s64)raw >> ((unused_bits + operand->skipped_bits) & 63);
	else
		*value = raw >> ((unused_bits + operand->skipped_bits) & 63);
	return true;
}

static __always_inline void miss(struct ms_gpu_tensor_process *process)
{
	__sync_fetch_and_add(&process->missed, 1);
}

/* Adds the current process. NULL if it is not watched, or if the map is full. Not inlined, so that other
 * calls need not clear the stack for it. */
static __noinline struct ms_gpu_tensor_process *add_process(__u32 pid)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct ms_gpu_tensor_process fresh = {}, *added;

	if (!target_of(task) || pid == watcher_pid)
		return NULL;
	fresh.id = bpf_ktime_get_boot_ns();
	fresh.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	bpf_map_update_elem(&gpu_tensor_processes, &pid, &fresh, BPF_NOEXIST);
	added = bpf_map_lookup_elem(&gpu_tensor_processes, &pid);
	if (!added)
		count_loss(MS_LOSS_TENSOR_ACCOUNTS_FULL);
	return added;
}

static __always_inline void count_tensors(struct ms_gpu_tensor_process *process, __u32 device, __s64 bytes,
                                          __s64 tensors)
{
	if (device >= MS_GPU_TENSOR_SLOTS)
		return;
	__sync_fetch_and_add(&process->bytes[device], bytes);
	__sync_fetch_and_add(&process->tensors, tensors);
}

/* False if the tensor was not known. */
static __always_inline bool forget_tensor(struct ms_gpu_tensor_process *process,
                                          const struct ms_gpu_tensor_key *key)
{
	const struct ms_gpu_tensor *known = bpf_map_lookup_elem(&gpu_tensors, key);
	struct ms_gpu_tensor tensor;

	if (!known)
		return false;
	__builtin_memcpy(&tensor, known, sizeof(tensor));
	if (bpf_map_delete_elem(&gpu_tensors, key)) /* another thread has deleted it first */
		return true;
	__sync_fetch_and_add(&gpu_tensor_entries, -1);
	count_tensors(process, tensor.device, -tensor.bytes, -1);
	return true;
}

/* Checks a device number that a process passes, because a process can pass any number. */
static __always_inline __u32 known_device(__u64 said)
{
	return said < MS_GPU_TENSOR_DEVICES ? (__u32)said : MS_GPU_TENSOR_NO_DEVICE;
}

static __always_inline void on_malloc(void *regs, const struct ms_gpu_tensor_site *site, __u32 pid)
{
	struct ms_gpu_tensor_process *process = bpf_map_lookup_elem(&gpu_tensor_processes, &pid);
	struct ms_gpu_tensor_key key = {.pid = pid};
	struct ms_gpu_tensor tensor = {};
	__u64 device = 0;

	if (!process)
		process = add_process(pid);
	if (!process)
		return;
	if (!read_operand(regs, &site->pointer, &key.address) ||
	    !read_operand(regs, &site->size, &tensor.bytes) || !read_operand(regs, &site->device, &device)) {
		count_loss(MS_LOSS_TENSOR_UNREADABLE);
		miss(process);
		return;
	}
	if (!key.address || !tensor.bytes)
		return;
	key.process = process->id;
	tensor.device = known_device(device);
	if (tensor.device < MS_GPU_TENSOR_SLOTS)
		process->used[tensor.device] = 1;
	if (bpf_map_update_elem(&gpu_tensors, &key, &tensor, BPF_NOEXIST)) {
		miss(process);
		/* If the address is known, the probes have missed the free of its earlier tensor. */
		if (!forget_tensor(process, &key) ||
		    bpf_map_update_elem(&gpu_tensors, &key, &tensor, BPF_NOEXIST)) {
			count_loss(MS_LOSS_TENSORS_FULL);
			return;
		}
	}
	__sync_fetch_and_add(&gpu_tensor_entries, 1);
	count_tensors(process, tensor.device, tensor.bytes, 1);
}

/* A forked child can free tensors of its parent. It has no entry here unless it allocates itself. */
static __always_inline void on_free(void *regs, const struct ms_gpu_tensor_site *site, __u32 pid)
{
	struct ms_gpu_tensor_process *process = bpf_map_lookup_elem(&gpu_tensor_processes, &pid);
	struct ms_gpu_tensor_key key = {.pid = pid};

	if (!process)
		return;
	if (!read_operand(regs, &site->pointer, &key.address)) {
		count_loss(MS_LOSS_TENSOR_UNREADABLE);
		miss(process);
		return;
	}
	if (!key.address)
		return;
	key.process = process->id;
	/* The tensor is not known: it was allocated before the process was watched, or the probes have missed
	 * its allocation. */
	if (!forget_tensor(process, &key))
		miss(process);
}

SEC("uprobe") int torch_site(struct pt_regs *ctx)
{
	__u32 number = bpf_get_attach_cookie(ctx);
	const struct ms_gpu_tensor_site *site = bpf_map_lookup_elem(&gpu_tensor_sites, &number);
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (!site)
		return 0;
	if (site->event == MS_GPU_TENSOR_MALLOC)
		on_malloc(ctx, site, pid);
	else
		on_free(ctx, site, pid);
	return 0;
}

/* After an exec, all tensors of the previous program are gone. */
SEC("tp_btf/sched_process_exec") int BPF_PROG(torch_exec, struct task_struct *task)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	bpf_map_delete_elem(&gpu_tensor_processes, &pid);
	return 0;
}

SEC("tp_btf/sched_process_exit") int BPF_PROG(torch_exit, struct task_struct *task)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (BPF_CORE_READ(task, signal, live.counter) == 0)
		bpf_map_delete_elem(&gpu_tensor_processes, &pid);
	return 0;
}
