/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Turns the call stack of the current thread into an id. A stack is sent once: when its id is new, its frames
 * and the names of its Python functions are sent to the collector, so that they outlive the process.
 */
#ifndef MEMSCOPE_STACKS_BPF_H
#define MEMSCOPE_STACKS_BPF_H

#include "stacks/python.bpf.h"

#define STACK_RING_BYTES (4 << 20)
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, STACK_RING_BYTES);
} stack_events SEC(".maps");

/* By pid: processes whose growth is followed. This map and the next three are shared by all objects. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct ms_space);
} spaces SEC(".maps");

/* By pid: number of stacks that the process may have beyond MS_STACKS_PER_PROCESS. The collector raises it
 * when it has forgotten stacks of the process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} more_stacks SEC(".maps");

/* Stacks that were sent. A stack whose entry was evicted is sent again, which does no harm. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MS_SITES);
	__type(key, __u64);
	__type(value, __u32);
} known_stacks SEC(".maps");

struct code_key {
	__u64 space;
	__u64 code;
	__u64 name; /* address of the name. The address of a code object can be reused, but the name and the
	               first line nearly always identify the function */
	__u64 first_line;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct code_key);
	__type(value, __u32);
} known_codes SEC(".maps");

/* Data that is too big for the stack of a BPF program. Each object has its own, because a program of one
 * object can interrupt a program of another. */
struct stack_scratch {
	struct frame_walk walk;
	struct ms_stack stack;
	struct ms_code code;
	__u64 calls; /* a hash of the process and its Python calls; the id of the stack if it has none */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_scratch);
} stack_scratch SEC(".maps");

/* False if the ring buffer is full. */
static __always_inline bool send_stack_event(void *record, __u64 size)
{
	/* The collector reads at every tick. It is woken early only when a quarter of the ring buffer is
	 * used. */
	__u64 flags = bpf_ringbuf_query(&stack_events, BPF_RB_AVAIL_DATA) > STACK_RING_BYTES / 4
	                  ? BPF_RB_FORCE_WAKEUP
	                  : BPF_RB_NO_WAKEUP;

	if (!bpf_ringbuf_output(&stack_events, record, size, flags))
		return true;
	count_loss(MS_LOSS_STACKS_FULL);
	return false;
}

static __always_inline void identify_space(struct ms_header *h, const struct ms_space *space, __u32 pid,
                                           enum ms_stack_event_kind kind, __u32 size)
{
	__builtin_memset(h, 0, sizeof(*h));
	h->time_ns = bpf_ktime_get_boot_ns();
	h->start_ns = space->start_ns;
	h->target =
	    space->id; /* in these events the id of the address space: a process can have had several */
	h->pid = pid;
	h->kind = kind;
	h->size = size;
}

/* Sends one code object unless it was sent before. False if the ring buffer is full. */
static __always_inline bool send_code(struct stack_scratch *scratch, const struct ms_space *space, __u32 pid,
                                      __u64 address, __u32 first_line)
{
	const struct ms_python *python = &scratch->walk.python;
	struct code_key key = {.space = space->id, .code = address, .first_line = first_line};
	struct ms_code *code = &scratch->code;
	__u64 name, file, table, bytes;
	bool failed = false;
	__u32 sent = 1;

	name = read_word(address + python->code_name, &failed);
	key.name = name;
	if (bpf_map_lookup_elem(&known_codes, &key))
		return true;
	identify_space(&code->h, space, pid, MS_EVENT_CODE, sizeof(*code));
	code->code = address;
	code->first_line = first_line;
	code->version = python->version;
	code->pad = 0;
	file = read_word(address + python->code_file, &failed);
	table = read_word(address + python->code_line_table, &failed);
	code->name_state = read_half(name + 32, &failed); /* PyASCIIObject.state, in all versions */
	code->file_state = read_half(file + 32, &failed);
	/* The scratch still has the text of the previous code object. */
	if (bpf_probe_read_user_str(code->name, sizeof(code->name), (void *)(name + python->text_data)) < 0)
		code->name[0] = 0;
	if (bpf_probe_read_user_str(code->file, sizeof(code->file), (void *)(file + python->text_data)) < 0)
		code->file[0] = 0;
	bytes = read_word(table + python->bytes_size, &failed);
	code->line_table_bytes = bytes > 0xffffffff ? 0xffffffff : bytes;
	if (bytes > MS_LINE_TABLE_BYTES)
		bytes = MS_LINE_TABLE_BYTES;
	barrier_var(bytes);
	if (bytes > MS_LINE_TABLE_BYTES)
		bytes = MS_LINE_TABLE_BYTES;
	if (bpf_probe_read_user(code->line_table, bytes, (void *)(table + python->bytes_data))) {
		failed = true;
		code->line_table_bytes = 0;
		bytes = 0;
	}
	if (failed)
		count_loss(MS_LOSS_PYTHON_UNREADABLE);
	if (!send_stack_event(code, sizeof(*code)))
		return false;
	bpf_map_update_elem(&known_codes, &key, &sent, BPF_ANY);
	return true;
}

struct code_loop {
	struct stack_scratch *scratch;
	const struct ms_space *space;
	__u32 pid;
	__u32 failed;
};

/* False when there are no more code objects, or when the ring buffer is full. */
static __always_inline bool send_code_at(struct code_loop *loop, __u32 index)
{
	struct ms_stack *stack = &loop->scratch->stack;
	bool failed = false;
	__u32 line;

	if (index >= stack->python_count)
		return false;
	barrier_var(index);
	index &= MS_PYTHON_FRAMES - 1;
	/* The walk may have kept the line of an earlier code object at this address, so the line is read
	 * again. */
	line = read_half(stack->python[index].code + loop->scratch->walk.python.code_first_line, &failed);
	if (!failed)
		stack->python[index].first_line = line;
	if (send_code(loop->scratch, loop->space, loop->pid, stack->python[index].code,
	              stack->python[index].first_line))
		return true;
	loop->failed = 1;
	return false;
}

static long send_code_in_loop(__u32 index, struct code_loop *loop)
{
	return !send_code_at(loop, index);
}

static __always_inline bool send_codes(struct stack_scratch *scratch, const struct ms_space *space, __u32 pid,
                                       bool bounded)
{
	struct code_loop loop = {.scratch = scratch, .space = space, .pid = pid};

	if (bounded) {
		for (int i = 0; i < MS_PYTHON_FRAMES; i++)
			if (!send_code_at(&loop, i))
				break;
	} else {
		bpf_loop(MS_PYTHON_FRAMES, send_code_in_loop, &loop, 0);
	}
	return !loop.failed;
}

/* Code this near to _PyRuntime is taken for code of the interpreter. */
#define INTERPRETER_BYTES (16ULL << 20)

static __always_inline bool is_of_interpreter(const struct ms_python *python, __u64 address)
{
	return address - python->runtime + INTERPRETER_BYTES < 2 * INTERPRETER_BYTES;
}

/* Takes the native frames, and returns the id of the stack. Code without frame pointers hides its callers:
 * the addresses above the innermost function are arbitrary then, and new at each step. So a stack with Python
 * calls is identified by these calls and its innermost native function. Its native frames are those of the
 * first such stack. Whether the interpreter called the innermost function is part of the id, because that
 * distinguishes arenas of Python's allocator. */
static __always_inline __u64 take_native(void *context, struct ms_stack *stack, const struct frame_walk *walk,
                                         const struct ms_space *space)
{
	long bytes = bpf_get_stack(context, stack->native, sizeof(stack->native), BPF_F_USER_STACK);
	__u32 count = bytes > 0 ? bytes / sizeof(stack->native[0]) : 0;
	__u64 id = walk->hash;

	if (count > MS_NATIVE_FRAMES)
		count = MS_NATIVE_FRAMES;
	/* A thread that runs no Python code in a process that does, for example a thread of a library. */
	if (!stack->python_count && stack->python_outcome != MS_PYTHON_NO_INTERPRETER && count > 1 &&
	    space->native_stacks >= MS_NATIVE_STACKS)
		count = 1;
	stack->native_count = count;
	if (stack->python_count) {
		id = mixed(id, count ? stack->native[0] : 0);
		return mixed(id, count > 1 && is_of_interpreter(&walk->python, stack->native[1]));
	}
	for (__u32 i = 0; i < MS_NATIVE_FRAMES; i++)
		if (i < count)
			id = mixed(id, stack->native[i]);
	return id;
}

/* A process that has sent this many stacks may use only half of the ring buffer, so that other processes can
 * send theirs. */
#define MODEST_STACKS 64

static __always_inline bool may_have_another(const struct ms_space *space, __u32 pid)
{
	__u32 *more;

	if (space->stacks < MODEST_STACKS)
		return true;
	if (bpf_ringbuf_query(&stack_events, BPF_RB_AVAIL_DATA) > STACK_RING_BYTES / 2) {
		count_loss(MS_LOSS_STACKS_FULL);
		return false;
	}
	if (space->stacks < MS_STACKS_PER_PROCESS)
		return true;
	more = bpf_map_lookup_elem(&more_stacks, &pid);
	return more && space->stacks - MS_STACKS_PER_PROCESS < *more;
}

/* Walks the stack of the current thread and computes its id. The caller checks whether the id is new. */
static __always_inline struct stack_scratch *walk_stack(void *context, const struct ms_space *space,
                                                        __u32 pid, bool bounded)
{
	__u32 first = 0;
	struct stack_scratch *scratch = bpf_map_lookup_elem(&stack_scratch, &first);
	struct ms_stack *stack;

	if (!scratch)
		return NULL;
	stack = &scratch->stack;
	scratch->walk.remembered = scratch->walk.space == space->id ? stack->python_count : 0;
	scratch->walk.space = space->id;
	stack->python_count = 0;
	stack->python_left_out = 0;
	/* An address is meaningless outside its address space, so the id of the address space is part of the
	 * hash. */
	scratch->walk.hash = mixed(space->id, pid);
	stack->python_outcome = walk_python(&scratch->walk, stack, pid, bounded);
	scratch->calls = scratch->walk.hash;
	stack->id = take_native(context, stack, &scratch->walk, space);
	if (!stack->id)
		stack->id = 1;
	if (!stack->python_count)
		scratch->calls = stack->id;
	return scratch;
}

/* Sends the walked stack unless it is known. Returns MS_STACK_OTHER if the process has reached its maximum of
 * stacks, or if the ring buffer is full. The next use of the stack tries again, so while a process floods the
 * ring buffer, stacks of other processes are missing only for a short time. */
static __always_inline __u64 send_stack_if_new(struct stack_scratch *scratch, struct ms_space *space,
                                               __u32 pid, bool bounded)
{
	struct ms_stack *stack = &scratch->stack;
	__u32 sent = 1;

	if (bpf_map_lookup_elem(&known_stacks, &stack->id))
		return stack->id;
	if (!may_have_another(space, pid))
		return MS_STACK_OTHER;
	if (!send_codes(scratch, space, pid, bounded))
		return MS_STACK_OTHER;
	identify_space(&stack->h, space, pid, MS_EVENT_STACK, sizeof(*stack));
	if (!send_stack_event(stack, sizeof(*stack)))
		return MS_STACK_OTHER;
	__sync_fetch_and_add(&space->stacks, 1);
	if (!stack->python_count)
		__sync_fetch_and_add(&space->native_stacks, 1);
	bpf_map_update_elem(&known_stacks, &stack->id, &sent, BPF_ANY);
	return stack->id;
}

static __always_inline __u64 current_stack(void *context, struct ms_space *space, __u32 pid, bool bounded)
{
	struct stack_scratch *scratch = walk_stack(context, space, pid, bounded);

	return scratch ? send_stack_if_new(scratch, space, pid, bounded) : MS_STACK_OTHER;
}

#endif
