// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* System calls that map and unmap memory, and calls that fail because memory is short. */
#include "memory/range_calls.bpf.h"
#include "processes/tree_events.bpf.h"
#include "stacks/stacks.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ENOSPC 28

/* mmap(), brk() and mremap() are alternatives: if one of them fails, the C library tries another. */
static __always_inline bool are_alternatives(enum ms_failed_call one, enum ms_failed_call other)
{
	return one == other || (one <= MS_FAILED_MREMAP && other <= MS_FAILED_MREMAP);
}

/* Forgets the failure after a call for at least that size has succeeded, because the failure does not explain
 * a later death. */
static __always_inline void forget_failure(struct address_space *space, enum ms_failed_call call, __u64 bytes)
{
	if (space->failure.time_ns && are_alternatives(space->failure.call, call) &&
	    bytes >= space->failure.bytes)
		space->failure.time_ns = 0;
}

static __always_inline void note_failure(struct ms_failure *failure, struct pt_regs *regs,
                                         enum ms_failed_call call, __u16 reason, __u64 bytes)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct inode *inode;

	failure->time_ns = bpf_ktime_get_boot_ns();
	failure->bytes = bytes;
	failure->call = call;
	failure->reason = reason;
	failure->magic = 0;
	failure->device = 0;
	if (call != MS_FAILED_FALLOCATE)
		return;
	inode = inode_of(task, first_argument_of(regs));
	failure->magic = BPF_CORE_READ(inode, i_sb, s_magic);
	failure->device = BPF_CORE_READ(inode, i_sb, s_dev);
}

static __always_inline void count_outcome(struct address_space *space, struct pt_regs *regs,
                                          enum ms_failed_call call, long ret, __u64 bytes)
{
	__u16 reason = ret == -ENOMEM ? MS_REASON_ENOMEM : MS_REASON_ENOSPC;

	if (ret != -ENOMEM && ret != -ENOSPC) {
		if (!has_failed(ret))
			forget_failure(space, call, bytes);
		return;
	}
	__sync_fetch_and_add(&space->mappings.failures[call][reason], 1);
	add(&space->activity, 1);
	note_failure(&space->failure, regs, call, reason, bytes);
}

/* brk() returns no error. It returns the current break, which is below the requested one after a failure. */
static __always_inline long brk_result(struct pt_regs *regs, long ret)
{
	return first_argument_of(regs) > (__u64)ret ? -ENOMEM : 0;
}

/* Bytes that a failed brk() call has requested. 0 if the call succeeded, because the previous break is not
 * known here. */
static __always_inline __u64 brk_bytes(struct pt_regs *regs, long ret)
{
	__u64 wanted = first_argument_of(regs);

	return wanted > (__u64)ret ? wanted - ret : 0;
}

static __always_inline bool begins_with(const char *name, const char *wanted, int bytes)
{
	for (int i = 0; i < bytes; i++)
		if (name[i] != wanted[i])
			return false;
	return true;
}

/* The collector puts user probes on the files of the CUDA driver and of PyTorch's allocators that a process
 * maps. The event is sent at once, because allocations before the probes are attached are not seen. */
#define MOST_REPORTED_LIBRARIES 64 /* per exec: a program that maps more does so to overload memscope */
static __always_inline void report_library(struct address_space *space, struct pt_regs *regs)
{
	static const char driver[] = "libcuda.so", torch[] = "libc10_cuda.so", host[] = "libc10.so";
	struct file *file;
	struct ms_header *h;
	char name[sizeof(torch)] = {};

	if (!(argument_3_of(regs) & MS_RANGE_EXECUTABLE) || (argument_4_of(regs) & MAP_ANONYMOUS))
		return;
	file = file_of((void *)bpf_get_current_task(), argument_5_of(regs));
	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	if (!begins_with(name, driver, sizeof(driver) - 1) && !begins_with(name, torch, sizeof(torch) - 1) &&
	    !begins_with(name, host, sizeof(host) - 1))
		return;
	if (space->libraries_mapped >= MOST_REPORTED_LIBRARIES)
		return;
	space->libraries_mapped++;
	h = begin_event(MS_EVENT_LIBRARY_MAPPED, sizeof(*h));
	if (!h)
		return;
	h->start_ns = space->start_ns;
	h->pid = bpf_get_current_pid_tgid() >> 32;
	send_event(h, true);
}

static __always_inline __u64 own_pages(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm, total_vm);
}

/* True for the system calls that on_return() evaluates. All others cost one or two comparisons. If the
 * process is not watched, a call for which this is true costs one map lookup more. */
static __always_inline bool concerns_memory(long number)
{
	switch (number) {
	case NR_MMAP:
	case NR_MUNMAP:
	case NR_MREMAP:
	case NR_BRK:
	case NR_SHMAT:
	case NR_SHMDT:
	case NR_MPROTECT:
	case NR_PKEY_MPROTECT:
	case NR_FALLOCATE:
	case NR_CLONE:
	case NR_CLONE3:
	case NR_FORK:
	case NR_VFORK:
		return true;
	default:
		return false;
	}
}

static __always_inline bool range_after(struct ms_range *r, struct address_space *space, struct pt_regs *regs,
                                        long number, long ret, struct task_struct *task)
{
	switch (number) {
	case NR_MMAP:
		return after_mmap(r, regs, ret, task);
	case NR_MUNMAP:
		return ret && at_munmap(r, regs, MS_RANGE_UNMAP_FAILED);
	case NR_MREMAP:
		return after_mremap(r, regs, ret);
	case NR_BRK:
		return after_brk(r, &space->ranges, ret);
	case NR_MPROTECT:
	case NR_PKEY_MPROTECT:
		return after_mprotect(r, regs, ret);
	case NR_SHMAT:
		return after_shmat(r, regs, ret);
	case NR_SHMDT:
		return ret && at_shmdt(r, regs, MS_RANGE_DETACH_FAILED);
	default:
		return false;
	}
}

const volatile __u32 follow_growth = 0;

/* The stack of the current system call. MS_STACK_OTHER if growth is not followed. */
static __always_inline __u64 mapping_stack(void *ctx, __u32 pid, bool bounded)
{
	struct ms_space *space = follow_growth ? bpf_map_lookup_elem(&spaces, &pid) : NULL;

	return space ? current_stack(ctx, space, pid, bounded) : MS_STACK_OTHER;
}

/* In a map and not on the stack, because with stack values the verifier would check all following code once
 * for each call. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ms_range);
} returned_range SEC(".maps");

static __always_inline void follow_return(void *ctx, struct address_space *space, struct pt_regs *regs,
                                          long number, long ret, bool bounded)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 pid = bpf_get_current_pid_tgid() >> 32, first = 0;
	struct ms_range *r = bpf_map_lookup_elem(&returned_range, &first);

	if (!r)
		return;
	__builtin_memset(r, 0, sizeof(*r));
	if (!range_after(r, space, regs, number, ret, task))
		return;
	if (may_add_memory(r))
		r->stack = mapping_stack(ctx, pid, bounded);
	send_range(r, space, pid);
}

static __always_inline bool range_before(struct ms_range *r, struct address_space *space,
                                         struct pt_regs *regs, long number)
{
	switch (number) {
	case NR_MUNMAP:
		return at_munmap(r, regs, MS_RANGE_UNMAP);
	case NR_MREMAP:
		return before_mremap(r, regs);
	case NR_SHMDT:
		return at_shmdt(r, regs, MS_RANGE_DETACH);
	case NR_MADVISE:
		return before_madvise(r, regs);
	default:
		before_brk(&space->ranges, (void *)bpf_get_current_task());
		return false;
	}
}

static __always_inline void follow_call(struct pt_regs *regs, long number)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct address_space *space = mappings_of(pid);
	struct ms_range r = {};

	if (space && range_before(&r, space, regs, number))
		send_range(&r, space, pid);
}

/* Runs at every system call of the host, so calls that unmap nothing return at once. */
static __always_inline int on_call(struct pt_regs *regs, long number)
{
	if (number == NR_MUNMAP || number == NR_MREMAP || number == NR_BRK || number == NR_SHMDT ||
	    number == NR_MADVISE)
		follow_call(regs, number);
	return 0;
}

static __always_inline int on_return(void *ctx, struct pt_regs *regs, long ret, bool bounded)
{
	long number = syscall_of(regs);
	struct address_space *space;

	if (!concerns_memory(number))
		return 0;
	space = mappings_of(bpf_get_current_pid_tgid() >> 32);
	if (!space)
		return 0;
	switch (number) {
	case NR_MMAP:
		count_outcome(space, regs, MS_FAILED_MMAP, ret, argument_2_of(regs));
		count_mapped(space, own_pages(), MS_MAPPED_MMAP, MS_UNMAPPED_OTHER);
		if (!has_failed(ret))
			report_library(space, regs);
		break;
	case NR_MUNMAP:
		count_mapped(space, own_pages(), MS_MAPPED_OTHER, MS_UNMAPPED_MUNMAP);
		break;
	case NR_MREMAP:
		count_outcome(space, regs, MS_FAILED_MREMAP, ret, argument_3_of(regs));
		count_mapped(space, own_pages(), MS_MAPPED_MREMAP, MS_UNMAPPED_MREMAP);
		break;
	case NR_BRK:
		count_outcome(space, regs, MS_FAILED_BRK, brk_result(regs, ret), brk_bytes(regs, ret));
		count_mapped(space, own_pages(), MS_MAPPED_BRK, MS_UNMAPPED_BRK);
		break;
	case NR_SHMAT:
	case NR_SHMDT:
		count_mapped(space, own_pages(), MS_MAPPED_SHM, MS_UNMAPPED_SHM);
		break;
	case NR_PKEY_MPROTECT:
	case NR_MPROTECT: /* does not change the size, but counts an earlier change that was not seen */
		count_mapped(space, own_pages(), MS_MAPPED_OTHER, MS_UNMAPPED_OTHER);
		break;
	case NR_FALLOCATE:
		count_outcome(space, regs, MS_FAILED_FALLOCATE, ret, argument_4_of(regs));
		break;
	default:
		count_outcome(space, regs, MS_FAILED_FORK, ret, 0);
	}
	if (follow_ranges) /* last, because the verifier then no longer tracks the cases above */
		follow_return(ctx, space, regs, number, ret, bounded);
	return 0;
}

SEC("tp_btf/sys_exit") int BPF_PROG(memory_sys_exit, struct pt_regs *regs, long ret)
{
	return on_return(ctx, regs, ret, false);
}

SEC("tp_btf/sys_exit") /* without bpf_loop() */
int BPF_PROG(memory_sys_exit_bounded, struct pt_regs *regs, long ret)
{
	return on_return(ctx, regs, ret, true);
}

SEC("tp_btf/sys_enter") int BPF_PROG(memory_sys_enter, struct pt_regs *regs, long number)
{
	return on_call(regs, number);
}
