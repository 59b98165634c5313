// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Follows the calls of the CUDA driver that allocate and free memory, with user probes at their entry and
 * return in every copy of libcuda that a process has mapped. A freed allocation is removed at the entry of
 * the call and restored if the call fails, because another thread can get the same address before the call
 * returns.
 */
#include "cuda/cuda_context_calls.bpf.h"
#include "cuda/cuda_memory.bpf.h"
#include "cuda/cuda_unmap.bpf.h"
#include "shared/user_calls.bpf.h"
#include "stacks/user_stacks.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 follow_growth = 0;

static __always_inline __u64 allocating_stack(void *ctx, __u32 pid, bool bounded)
{
	struct ms_space *space = follow_growth ? bpf_map_lookup_elem(&spaces, &pid) : NULL;

	return space ? user_stack(ctx, space, pid, MS_LOSS_GPU_SITES_FULL, bounded).id : MS_STACK_OTHER;
}

/* A driver function can call another one of the followed functions. Only the outer call is counted. An outer
 * call that never returned is ignored after LONGEST_CALL_NS. */
#define LONGEST_CALL_NS 60000000000ull
static __always_inline bool is_inside_another(__u64 thread, __u64 sp)
{
	struct cuda_call *outer = bpf_map_lookup_elem(&cuda_calls, &thread);

	return outer && sp <= outer->stack_pointer &&
	       bpf_ktime_get_boot_ns() - outer->time_ns < LONGEST_CALL_NS;
}

static __always_inline int on_call(struct pt_regs *regs, __u32 call)
{
	__u64 thread = bpf_get_current_pid_tgid();
	__u32 pid = thread >> 32;
	struct ms_cuda_process *process = cuda_process(pid);
	struct cuda_call begun = {.call = call, .stack_pointer = stack_pointer(regs)};
	struct ms_cuda_live_key key;

	if (!process || is_inside_another(thread, begun.stack_pointer))
		return 0;
	begun.time_ns = bpf_ktime_get_boot_ns();
	begun.arguments[0] = call_argument_1(regs);
	begun.arguments[1] = call_argument_2(regs);
	begun.arguments[2] = call_argument_3(regs);
	begun.arguments[3] = call_argument_4(regs);
	begun.arguments[4] = call_argument_5(regs);
	if (frees(call)) {
		key = key_of(process, pid, call, begun.arguments[0]);
		if (remove(process, pid, &key, &begun.taken))
			begun.has_taken = CUDA_TAKEN_MEMORY;
	}
	if (call == MS_CUDA_RELEASE)
		before_release(process, pid, &begun);
	if (call == MS_CUDA_MAP)
		before_map(process, pid, &begun);
	if (bpf_map_update_elem(&cuda_calls, &thread, &begun, BPF_ANY))
		count_loss(MS_LOSS_GPU_CALLS_FULL);
	return 0;
}

static __always_inline void after_call(void *ctx, struct ms_cuda_process *process, __u32 pid,
                                       struct cuda_call *begun, __u32 result, bool bounded)
{
	struct ms_cuda_live held = {};
	struct ms_cuda_live_key key;
	bool taken = false;

	switch (begun->call) {
	case MS_CUDA_ALLOC:
	case MS_CUDA_ALLOC_PITCH:
	case MS_CUDA_ALLOC_MANAGED:
	case MS_CUDA_ALLOC_ASYNC:
	case MS_CUDA_HOST_ALLOC:
	case MS_CUDA_HOST_REGISTER:
		taken = was_allocated(process, pid, begun, result, &key, &held);
		break;
	case MS_CUDA_CREATE:
		taken = was_created(process, pid, begun, result, &key, &held);
		break;
	case MS_CUDA_RETAIN:
		if (!result)
			after_retain(process, pid, begun);
		break;
	case MS_CUDA_MAP:
		after_map(process, pid, begun, result);
		break;
	case MS_CUDA_UNMAP:
		if (!result)
			after_unmap(process, pid, begun, bounded);
		break;
	case MS_CUDA_FREE:
	case MS_CUDA_HOST_FREE:
	case MS_CUDA_HOST_UNREGISTER:
	case MS_CUDA_RELEASE:
		if (!result || !begun->has_taken)
			break;
		key = key_of(process, pid, begun->call, begun->arguments[0]);
		if (begun->call == MS_CUDA_RELEASE) {
			begun->taken.uses = MS_CUDA_REFERENCE;
			undo_release(&key, begun);
		}
		if (begun->has_taken == CUDA_TAKEN_MEMORY)
			enter(process, pid, &key, &begun->taken);
		break;
	case MS_CUDA_SET_CONTEXT:
	case MS_CUDA_PUSH_CONTEXT:
	case MS_CUDA_POP_CONTEXT:
		if (!result)
			after_current_call(process, begun);
		break;
	default:
		if (!result)
			after_context_call(process, pid, begun);
	}
	if (!taken)
		return;
	held.stack = allocating_stack(
	    ctx, pid, bounded); /* in one place only, because the verifier needs long for a stack walk */
	enter(process, pid, &key, &held);
}

static __always_inline int on_return(struct pt_regs *regs, bool bounded)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct cuda_call *begun = bpf_map_lookup_elem(&cuda_calls, &thread);
	__u32 pid = thread >> 32;
	struct ms_cuda_process *process;

	/* If the stack pointer is lower, an inner call returns, not the recorded call. At the return of the
	 * recorded call, the return address may or may not have been popped, so one word of difference is
	 * allowed. */
	if (!begun || stack_pointer(regs) - begun->stack_pointer > sizeof(__u64))
		return 0;
	process = bpf_map_lookup_elem(&cuda_processes, &pid);
	if (process)
		after_call(regs, process, pid, begun, call_result(regs), bounded);
	bpf_map_delete_elem(&cuda_calls, &thread);
	return 0;
}

#define CALL(name, handler, call)                                                                            \
	SEC("uprobe") int gpu_##name(struct pt_regs *ctx)                                                    \
	{                                                                                                    \
		return handler(ctx, MS_CUDA_##call);                                                         \
	}

CALL(alloc, on_call, ALLOC)
CALL(alloc_pitch, on_call, ALLOC_PITCH)
CALL(alloc_managed, on_call, ALLOC_MANAGED)
CALL(alloc_async, on_call, ALLOC_ASYNC)
CALL(free, on_call, FREE)
CALL(create, on_call, CREATE)
CALL(release, on_call, RELEASE)
CALL(retain, on_call, RETAIN)
CALL(map, on_call, MAP)
CALL(unmap, on_call, UNMAP)
CALL(host_alloc, on_call, HOST_ALLOC)
CALL(host_free, on_call, HOST_FREE)
CALL(host_register, on_call, HOST_REGISTER)
CALL(host_unregister, on_call, HOST_UNREGISTER)
CALL(primary_retain, on_call, PRIMARY_RETAIN)
CALL(primary_release, on_call, PRIMARY_RELEASE)
CALL(primary_reset, on_call, PRIMARY_RESET)
CALL(create_context, on_call, CREATE_CONTEXT)
CALL(create_context_3, on_call, CREATE_CONTEXT_3)
CALL(create_context_4, on_call, CREATE_CONTEXT_4)
CALL(destroy_context, on_call, DESTROY_CONTEXT)
CALL(set_context, on_call, SET_CONTEXT)
CALL(push_context, on_call, PUSH_CONTEXT)
CALL(pop_context, on_call, POP_CONTEXT)
CALL(get_uuid, on_call, GET_UUID)

SEC("uretprobe") int gpu_return(struct pt_regs *ctx)
{
	return on_return(ctx, false);
}

SEC("uretprobe") /* without bpf_loop() */
int gpu_return_bounded(struct pt_regs *ctx)
{
	return on_return(ctx, true);
}

/* After an exec, all CUDA memory of the previous program is gone. */
SEC("tp_btf/sched_process_exec") int BPF_PROG(gpu_exec, struct task_struct *task)
{
	__u64 thread = bpf_get_current_pid_tgid();
	__u32 pid = thread >> 32;

	bpf_map_delete_elem(&cuda_processes, &pid);
	bpf_map_delete_elem(&cuda_seen_from_start, &pid);
	bpf_map_delete_elem(&cuda_calls, &thread);
	bpf_map_delete_elem(&cuda_threads, &thread);
	return 0;
}

SEC("tp_btf/sched_process_exit") int BPF_PROG(gpu_exit, struct task_struct *task)
{
	__u64 thread = bpf_get_current_pid_tgid();
	__u32 pid = thread >> 32;

	bpf_map_delete_elem(&cuda_calls, &thread);
	bpf_map_delete_elem(&cuda_threads, &thread);
	if (BPF_CORE_READ(task, signal, live.counter) == 0) {
		bpf_map_delete_elem(&cuda_processes, &pid);
		bpf_map_delete_elem(&cuda_seen_from_start, &pid);
	}
	return 0;
}
