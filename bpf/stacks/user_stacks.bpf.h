/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Call stacks for the BPF programs at user probes. */
#ifndef MEMSCOPE_USER_STACKS_BPF_H
#define MEMSCOPE_USER_STACKS_BPF_H

#include "stacks/stacks.bpf.h"

/* A program at a user probe can be preempted by another program on the same CPU, so the per-CPU stack scratch
 * may be in use. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} stack_scratch_users SEC(".maps");

/* Returns 0 if the caller got the scratch. The caller releases it by writing 0. */
static __always_inline __u32 take_scratch(__u32 *users)
{
#ifdef MEMSCOPE_WITHOUT_EXCHANGE
	/* Kernels without atomic exchange do not preempt a program at a user probe. */
	__u32 before = *users;

	*users = 1;
	return before;
#else
	return __sync_lock_test_and_set(users, 1);
#endif
}

struct user_stack {
	__u64 id;
	__u64 calls; /* as in struct stack_scratch */
};

/* The current stack. Its id is MS_STACK_OTHER if it has none. `busy`: the loss to count if the scratch is in
 * use. */
static __always_inline struct user_stack user_stack(void *ctx, struct ms_space *space, __u32 pid,
                                                    enum ms_loss busy, bool bounded)
{
	__u32 first = 0, *users = bpf_map_lookup_elem(&stack_scratch_users, &first);
	struct user_stack stack = {.id = MS_STACK_OTHER};
	struct stack_scratch *scratch;

	if (!users)
		return stack;
	if (take_scratch(users)) {
		count_loss(busy);
		return stack;
	}
	scratch = walk_stack(ctx, space, pid, bounded);
	if (scratch) {
		stack.id = send_stack_if_new(scratch, space, pid, bounded);
		stack.calls = scratch->calls;
	}
	*users = 0;
	return stack;
}

#endif
