/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The address of the page fault that the current task is in. No tracepoint has it on both architectures, and
 * a perf event at every fault makes a fault 5 % slower. But while the kernel serves a fault, its description
 * (struct vm_fault) is on the stack of the task, above the arguments of the tracepoint. Words on the stack
 * are accepted as a vm_fault only if their values are consistent: the area belongs to the address space, the
 * address is in this area, and the page number is that of the address in this area. A vm_fault of an earlier
 * fault may also be there, so the caller makes sure that the task is in a fault.
 */
#ifndef MEMSCOPE_FAULT_ADDRESS_BPF_H
#define MEMSCOPE_FAULT_ADDRESS_BPF_H

#include "shared/kernel_types.bpf.h"

const volatile __u32 page_bytes = 4096;

/* The search goes from the arguments of the tracepoint to the outermost caller, at most this far. */
#define STACK_WORDS 256 /* a power of two */
#define FAULT_WORDS 16  /* at least as many as struct vm_fault has up to the last field that is read */
struct kernel_stack {
	__u64 words[STACK_WORDS];
	__u32 last; /* the index at which this CPU found the last vm_fault. Most page faults take the same
	               path through the kernel, so the next one is at the same index. */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_stack);
} kernel_stacks SEC(".maps");

struct fault {
	__u64 address; /* 0: no page fault was found on the stack */
	bool swapped_in;
};

struct fault_search {
	const struct kernel_stack *stack;
	struct mm_struct *mm;
	__u32 words;
	__u32 found; /* the index of the vm_fault */
	struct fault fault;
};

static __always_inline __u64 word_at(const struct fault_search *search, __u32 index, __u32 offset)
{
	return search->stack->words[(index + offset / sizeof(__u64)) % STACK_WORDS];
}

/* Only an entry of a page table that is neither empty nor present makes the kernel swap a page in. Bit 0 is
 * set in entries of present pages, on x86_64 and arm64. */
static __always_inline bool is_swap_entry(__u64 entry)
{
	return entry && !(entry & 1);
}

#define FIELD(name) bpf_core_field_offset(struct vm_fault, name)

static __always_inline bool has_fault_at(struct fault_search *search, __u32 index)
{
	__u64 address = word_at(search, index, FIELD(address));
	struct vm_area_struct *area;
	__u64 start;

	if (!address || (word_at(search, index, FIELD(real_address)) & -(__u64)page_bytes) != address)
		return false;
	area = (void *)word_at(search, index, FIELD(vma));
	if (BPF_CORE_READ(area, vm_mm) != search->mm)
		return false;
	start = BPF_CORE_READ(area, vm_start);
	if (address < start || address >= BPF_CORE_READ(area, vm_end) ||
	    word_at(search, index, FIELD(pgoff)) !=
	        BPF_CORE_READ(area, vm_pgoff) + (address - start) / page_bytes)
		return false;
	search->found = index;
	search->fault.address = address;
	search->fault.swapped_in = is_swap_entry(word_at(search, index, FIELD(orig_pte)));
	return true;
}

static long examine_stack(__u32 index, struct fault_search *search)
{
	return index + FIELD(orig_pte) / sizeof(__u64) >= search->words || has_fault_at(search, index);
}

/* Tests only the place of the last vm_fault. This takes 450 ns less than the search. */
static __always_inline bool has_fault_at_last_place(struct fault_search *search, struct kernel_stack *stack,
                                                    __u64 bottom, __u64 top)
{
	__u64 expected = bottom + stack->last * sizeof(__u64);

	return FIELD(orig_pte) < FAULT_WORDS * sizeof(__u64) && stack->last < STACK_WORDS &&
	       expected + FAULT_WORDS * sizeof(__u64) <= top &&
	       !bpf_probe_read_kernel(stack->words, FAULT_WORDS * sizeof(__u64), (void *)expected) &&
	       has_fault_at(search, 0);
}

/* `ctx`: the context of a program at a tracepoint. The arguments of the tracepoint are on the stack of the
 * task. */
static __always_inline struct fault fault_of(void *ctx, struct task_struct *task, struct mm_struct *mm)
{
	__u64 bottom = address_of(ctx), top = address_of((void *)bpf_task_pt_regs(task));
	__u32 first = 0;
	struct kernel_stack *stack = bpf_map_lookup_elem(&kernel_stacks, &first);
	struct fault_search search = {.stack = stack, .mm = mm};
	__u64 bytes = top - bottom;

	if (!stack || bottom >= top || has_fault_at_last_place(&search, stack, bottom, top))
		return search.fault;
	if (bytes > sizeof(stack->words))
		bytes = sizeof(stack->words);
	if (bpf_probe_read_kernel(stack->words, bytes, (void *)bottom))
		return search.fault;
	search.words = bytes / sizeof(__u64);
	bpf_loop(STACK_WORDS, examine_stack, &search, 0);
	if (search.fault.address)
		stack->last = search.found;
	return search.fault;
}

#undef FIELD

#endif
