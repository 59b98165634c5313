/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Walks the Python frames of the current thread. CPython links them: runtime -> interpreters -> thread states
 * -> frames -> code objects. The collector provides the offsets of these links (struct ms_python). All of it
 * is memory of the process and cannot be trusted, so every list has a bound and every read may fail.
 */
#ifndef MEMSCOPE_PYTHON_BPF_H
#define MEMSCOPE_PYTHON_BPF_H

#include "shared/loss.bpf.h"
#include <memscope/shared/stacks.h>

#define THREADS_SEARCHED         1024
#define THREADS_SEARCHED_BOUNDED 64                      /* without bpf_loop() */
#define FRAMES_WALKED            512                     /* skipped frames included */
#define FRAMES_WALKED_BOUNDED    (MS_PYTHON_FRAMES + 16) /* without bpf_loop() */
/* Retry interval for a thread that has no PyThreadState. A new Python thread maps its first memory before
 * CPython adds it to the list, and can touch megabytes within a millisecond. The interval doubles with each
 * miss, because some threads never get a PyThreadState. */
#define LOOK_AGAIN_NS     62500ULL
#define LOOK_AGAIN_DOUBLE 4 /* the interval doubles at most this many times: up to 1 ms */
#define FRAME_BYTES       112
#define FRAME_ROOM        128 /* a power of two: offsets into it are masked */

/* By pid. Shared by all objects. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct ms_python);
} interpreters SEC(".maps");

struct thread_key {
	__u32 pid;
	__u32 tid;
};

struct python_thread {
	__u64 state;     /* address of its PyThreadState; 0: none was found */
	__u64 looked_ns; /* time of the last search */
	__u32 also_tid;  /* thread id of the parent: a forked child has it in its PyThreadState until CPython
	                    updates it */
	__u32 misses;    /* searches without a result, in a row */
};

/* Cache of the search, so that a long list of threads is searched once per thread. Shared by all objects. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct thread_key);
	__type(value, struct python_thread);
} python_threads SEC(".maps");

static __always_inline __u64 read_word(__u64 address, bool *failed)
{
	__u64 word = 0;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)address))
		*failed = true;
	return word;
}

static __always_inline __u32 read_half(__u64 address, bool *failed)
{
	__u32 half = 0;

	if (bpf_probe_read_user(&half, sizeof(half), (void *)address))
		*failed = true;
	return half;
}

/* The thread id in the PID namespace of the process. */
static __always_inline __u32 own_tid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	__u32 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number),
	                      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	                          level * bpf_core_type_size(struct upid) +
	                          bpf_core_field_offset(struct upid, nr));
	return number;
}

static __always_inline __u32 tid_of_state(const struct ms_python *python, __u64 state, bool *failed)
{
	__u64 id = read_word(state + python->thread_id, failed);

	return python->pthread_tid && id ? read_half(id + python->pthread_tid, failed) : id;
}

struct thread_search {
	const struct ms_python *python;
	__u64 interpreter;
	__u64 state;
	__u64 found;
	__u32 tid;
};

/* Returns false when the search has ended. */
static __always_inline bool search_on(struct thread_search *search)
{
	const struct ms_python *python = search->python;
	bool failed = false;

	if (!search->state) {
		if (!search->interpreter)
			return false;
		search->interpreter = read_word(search->interpreter + python->interpreter_next, &failed);
		if (failed || !search->interpreter)
			return false;
		search->state = read_word(search->interpreter + python->interpreter_threads, &failed);
		return !failed;
	}
	if (tid_of_state(python, search->state, &failed) == search->tid && !failed) {
		search->found = search->state;
		return false;
	}
	failed = false;
	search->state = read_word(search->state + python->thread_next, &failed);
	return !failed;
}

static long search_on_in_loop(__u32 index, struct thread_search *search)
{
	return !search_on(search);
}

static __always_inline __u64 find_thread_state(const struct ms_python *python, __u32 tid, bool bounded)
{
	struct thread_search search = {.python = python, .tid = tid};
	bool failed = false;

	search.interpreter = read_word(python->runtime + python->runtime_interpreters, &failed);
	if (failed || !search.interpreter)
		return 0;
	search.state = read_word(search.interpreter + python->interpreter_threads, &failed);
	if (failed)
		return 0;
	if (bounded) {
		for (int i = 0; i < THREADS_SEARCHED_BOUNDED; i++)
			if (!search_on(&search))
				break;
	} else {
		bpf_loop(THREADS_SEARCHED, search_on_in_loop, &search, 0);
	}
	return search.found;
}

/* Address of the PyThreadState of the current thread, 0 if it has none. */
static __always_inline __u64 current_thread_state(const struct ms_python *python, __u32 pid, bool bounded)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct thread_key key = {.pid = pid, .tid = bpf_get_current_pid_tgid()};
	struct python_thread *known = bpf_map_lookup_elem(&python_threads, &key);
	struct python_thread fresh = {};
	__u32 tid = own_tid(task);
	bool failed = false;

	if (known && known->state) {
		__u32 its = tid_of_state(python, known->state, &failed);

		if (!failed && (its == tid || (known->also_tid && its == known->also_tid)))
			return known->state;
	} else if (known) {
		__u32 doubled = known->misses < LOOK_AGAIN_DOUBLE ? known->misses : LOOK_AGAIN_DOUBLE;

		if (bpf_ktime_get_ns() - known->looked_ns < LOOK_AGAIN_NS << doubled)
			return 0;
		fresh.misses = known->misses + 1;
	}
	fresh.state = find_thread_state(python, tid, bounded);
	fresh.looked_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&python_threads, &key, &fresh, BPF_ANY);
	return fresh.state;
}

/* A copy of the current frame, and the state of the walk. In a map, because it is too big for the stack, and
 * because the verifier treats map values as unknown numbers, so that all iterations of the loop are equal to
 * it. */
struct frame_walk {
	struct ms_python python; /* a copy, because the process may exit meanwhile */
	__u64 frame;             /* address of the next frame */
	__u64 hash;
	__u64 space; /* address space of the last walk, whose frames are still in the record */
	__u8 bytes[FRAME_ROOM];
	__u32 failed;
	__u32 remembered; /* number of these frames */
};

/* Mixes a word into a hash. */
static __always_inline __u64 mixed(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
	return hash ^ (hash >> 32);
}

/* A frame whose owner is 3 or higher is not Python code: CPython inserts such frames between C and Python
 * code. */
#define OWNER_SHIM 3

/* Returns false at the end. The collector has checked the offsets. The masks are for the verifier. */
static __always_inline bool take_frame(struct frame_walk *walk, struct ms_stack *stack)
{
	const struct ms_python *python = &walk->python;
	__u64 bytes = python->frame_bytes, code, instruction;
	__u32 index = stack->python_count;
	bool failed = false;
	__u8 owner = 0;

	if (!walk->frame)
		return false;
	/* Behind the innermost frames, the outermost ones are kept: they have the line of the user's own code
	 * that runs a deep import or a framework. */
	if (index >= MS_PYTHON_FRAMES)
		index =
		    MS_PYTHON_INNERMOST +
		    (MS_PYTHON_FRAMES - MS_PYTHON_INNERMOST + stack->python_left_out) % MS_PYTHON_OUTERMOST;
	if (bytes > FRAME_BYTES)
		bytes = FRAME_BYTES;
	barrier_var(bytes);
	if (bpf_probe_read_user(walk->bytes, bytes, (void *)walk->frame)) {
		walk->failed = 1;
		return false;
	}
	code =
	    *(__u64 *)(walk->bytes + (python->frame_code & 0x78)) & ~7ULL; /* 3.14 has tags in the low bits */
	if (python->frame_owner == MS_PYTHON_NO_OFFSET) { /* 3.10: an index of two-byte instructions */
		instruction = 2ULL * *(__u32 *)(walk->bytes + (python->frame_instruction & 0x7c));
	} else {
		instruction = *(__u64 *)(walk->bytes + (python->frame_instruction & 0x78)) - code -
		              python->code_bytecode;
		owner = walk->bytes[python->frame_owner & 0x7f];
	}
	walk->frame = *(__u64 *)(walk->bytes + (python->frame_previous & 0x78));
	if (owner >= OWNER_SHIM || !code)
		return true;
	barrier_var(index);
	index &= MS_PYTHON_FRAMES - 1;
	/* The address of a code object can be reused, so its first line is part of the hash. Reading a code
	 * object is a cache miss, so the code object of a caller is not read again while the caller is at the
	 * same instruction. */
	if (index == 0 || index >= walk->remembered || stack->python[index].code != code ||
	    stack->python[index].instruction != (__u32)instruction)
		stack->python[index].first_line = read_half(code + python->code_first_line, &failed);
	stack->python[index].code = code;
	stack->python[index].instruction = instruction;
	if (failed) {
		walk->failed = 1;
		return false;
	}
	walk->hash = mixed(walk->hash, code);
	walk->hash = mixed(walk->hash, (__u32)instruction | ((__u64)stack->python[index].first_line << 32));
	if (stack->python_count < MS_PYTHON_FRAMES)
		stack->python_count++;
	else
		stack->python_left_out++;
	return true;
}

struct frame_loop {
	struct frame_walk *walk;
	struct ms_stack *stack;
};

static long take_frame_in_loop(__u32 index, struct frame_loop *loop)
{
	return !take_frame(loop->walk, loop->stack);
}

/* Fills in the Python part of the stack. The caller sets the start value of walk->hash. */
static __always_inline enum ms_python_outcome walk_python(struct frame_walk *walk, struct ms_stack *stack,
                                                          __u32 pid, bool bounded)
{
	struct ms_python *python = bpf_map_lookup_elem(&interpreters, &pid);
	bool failed = false;
	__u64 state;

	if (!python)
		return MS_PYTHON_NO_INTERPRETER;
	walk->python = *python;
	state = current_thread_state(&walk->python, pid, bounded);
	if (!state)
		return MS_PYTHON_NO_THREAD;
	walk->frame = read_word(state + walk->python.thread_frame, &failed);
	if (!failed && walk->frame && walk->python.cframe_frame != MS_PYTHON_NO_OFFSET)
		walk->frame = read_word(walk->frame + walk->python.cframe_frame, &failed);
	walk->failed = failed;
	if (!failed && bounded) {
		for (int i = 0; i < FRAMES_WALKED_BOUNDED; i++)
			if (!take_frame(walk, stack))
				break;
	} else if (!failed) {
		struct frame_loop loop = {walk, stack};

		bpf_loop(FRAMES_WALKED, take_frame_in_loop, &loop, 0);
	}
	if (walk->failed)
		count_loss(MS_LOSS_PYTHON_UNREADABLE);
	if (stack->python_count)
		return MS_PYTHON_FOUND;
	return walk->failed ? MS_PYTHON_UNREADABLE : MS_PYTHON_NO_FRAME;
}

/* At a fork: the child runs the same interpreter, and its only thread is a copy of the forking thread. */
static __always_inline void inherit_python(struct task_struct *parent, struct task_struct *child,
                                           bool bounded)
{
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);
	struct ms_python *python = bpf_map_lookup_elem(&interpreters, &from);
	struct thread_key forker = {.pid = from, .tid = BPF_CORE_READ(parent, pid)};
	struct thread_key forked = {.pid = to, .tid = BPF_CORE_READ(child, pid)};
	struct python_thread *known, fresh = {};
	bool failed = false;

	if (!python)
		return;
	if (bpf_map_update_elem(&interpreters, &to, python, BPF_ANY))
		count_loss(MS_LOSS_SPACES_FULL);
	known = bpf_map_lookup_elem(&python_threads, &forker);
	fresh.state = known ? known->state : 0;
	if (!fresh.state)
		fresh.state = find_thread_state(python, own_tid(parent), bounded);
	if (!fresh.state)
		return;
	fresh.also_tid = tid_of_state(python, fresh.state, &failed);
	if (!failed)
		bpf_map_update_elem(&python_threads, &forked, &fresh, BPF_ANY);
}

#endif
