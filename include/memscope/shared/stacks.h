/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Call stacks as the BPF programs send them, and what they must know of a Python interpreter to walk its frames.
 * Included by both sides, as wire.h is.
 */
#ifndef MEMSCOPE_SHARED_STACKS_H
#define MEMSCOPE_SHARED_STACKS_H

#include <memscope/shared/wire.h>

#define MS_PYTHON_FRAMES 64 /* a power of two: indexes are masked */
#define MS_NATIVE_FRAMES 32
#define MS_CODE_NAME_BYTES 128
#define MS_CODE_FILE_BYTES 256
#define MS_LINE_TABLE_BYTES 1024
/* A stack that has no entry of its own: of a process that has had its share of them. */
#define MS_STACK_OTHER 0

/* Where things are inside one process's CPython: offsets in bytes. Found by the collector, by process in the map
 * `interpreters`. */
#define MS_PYTHON_NO_OFFSET 0xffffu
struct ms_python {
    __u64 runtime;          /* address of _PyRuntime in the process */
    __u32 interpreter_next; /* PyInterpreterState */
    __u32 interpreter_threads;
    __u16 version;              /* 310, 311, ... */
    __u16 runtime_interpreters; /* _PyRuntime: the first interpreter */
    __u16 thread_next;          /* PyThreadState */
    __u16 thread_id;            /* the kernel's thread id; pthread_self() where pthread_tid is given */
    __u16 thread_frame;
    __u16 cframe_frame; /* thread_frame leads to a C frame, which has the frame here; or MS_PYTHON_NO_OFFSET */
    __u16 pthread_tid;  /* 3.10: the thread id inside struct pthread; else 0 */
    __u16 frame_bytes;  /* to read of a frame, at most 112 */
    __u16 frame_previous;
    __u16 frame_code;
    __u16 frame_instruction;
    __u16 frame_owner;   /* MS_PYTHON_NO_OFFSET: there is none (3.10) */
    __u16 code_bytecode; /* where the instructions begin; unused in 3.10 */
    __u16 code_file;
    __u16 code_name; /* the qualified one, from 3.11 on */
    __u16 code_first_line;
    __u16 code_line_table;
    __u16 text_data; /* characters of a compact ASCII string */
    __u16 bytes_size;
    __u16 bytes_data;
    __u32 pad;
};
MS_LAYOUT(ms_python, 64);

/* How the search for the Python stack ended. */
#define MS_PYTHON_OUTCOMES(X)                                                          \
    X(FOUND, "found")                                                                  \
    X(NO_INTERPRETER, "no_interpreter") /* no Python, or none we know the layout of */ \
    X(NO_THREAD, "no_thread")           /* a thread that Python does not know */       \
    X(NO_FRAME, "no_frame")             /* a thread that runs no Python code now */    \
    X(UNREADABLE, "unreadable")         /* the memory of the interpreter could not be read */
/* clang-format off */
#define X(name, word) MS_PYTHON_##name,
enum ms_python_outcome { MS_PYTHON_OUTCOMES(X) MS_PYTHON_OUTCOME_COUNT };
#undef X
/* clang-format on */

enum ms_stack_event_kind {
    MS_EVENT_STACK = 32,
    MS_EVENT_CODE = 33,
    MS_EVENT_GREW = 34, /* the header alone: a process has grown for the first time */
};

/* Resident growth is booked in steps of this size: what a walk of the stack costs is spread over it. */
#define MS_GROWTH_STEP_BYTES (512 << 10)
#define MS_SITES 16384
/* Stacks that one process may have at a time; the collector grants more as it forgets others. Four that invent stacks
 * do not fill the map. */
#define MS_STACKS_PER_PROCESS 3072

/* The anonymous memory of one process: by pid in the map `spaces`. Pages are signed differences. */
struct ms_space {
    __u64 id;       /* of the address space: a process that executes another program gets another one */
    __u64 start_ns; /* of the process */
    __u64 mm;       /* address of its mm_struct; 0: not known yet, the first change will tell */
    __s64 pages;    /* at the last sample */
    __s64 external; /* not made by the process itself: reclaim, huge pages put together, other tasks */
    __s64 other;    /* of stacks that found no place */
    __s64 paused;   /* while the hook was off */
    __u32 stacks;   /* sent so far */
    __u32 told;     /* the collector knows that it grows */
    __u32 period;   /* of the hook, at the last sample */
    __u32 pad;
};
MS_LAYOUT(ms_space, 72);

/* What one stack of one address space has grown by: by stack id in the map `sites`. */
struct ms_site {
    __s64 pages;
    __u64 space;
    __u32 pid;
    __u32 pad;
};
MS_LAYOUT(ms_site, 24);

struct ms_python_frame {
    __u64 code;        /* address of the code object */
    __u32 instruction; /* byte offset in its bytecode */
    __u32 first_line;
};
MS_LAYOUT(ms_python_frame, 16);

/* MS_EVENT_STACK: sent when an id is seen first, after the code objects of its frames. Innermost frames first; only
 * that part of `native` that is used is sent. */
struct ms_stack {
    struct ms_header h;
    __u64 id;
    __u16 python_outcome; /* enum ms_python_outcome */
    __u16 python_count;
    __u16 python_truncated; /* there were more */
    __u16 native_count;
    struct ms_python_frame python[MS_PYTHON_FRAMES];
    __u64 native[MS_NATIVE_FRAMES];
};
MS_LAYOUT(ms_stack, 32 + 16 + 16 * MS_PYTHON_FRAMES + 8 * MS_NATIVE_FRAMES);

/* MS_EVENT_CODE: a code object of a process, sent once. What is longer than its field is cut off, and the collector
 * reads it from the process while that lives. */
struct ms_code {
    struct ms_header h;
    __u64 code;
    __u32 first_line;
    __u32 line_table_bytes; /* as long as it is; what is sent ends at MS_LINE_TABLE_BYTES */
    __u32 name_state;       /* PyASCIIObject.state of the name and of the file: is it ASCII */
    __u32 file_state;
    __u32 version; /* of the interpreter, as in struct ms_python */
    __u32 pad;
    char name[MS_CODE_NAME_BYTES]; /* NUL-terminated */
    char file[MS_CODE_FILE_BYTES];
    __u8 line_table[MS_LINE_TABLE_BYTES];
};
MS_LAYOUT(ms_code, 32 + 32 + MS_CODE_NAME_BYTES + MS_CODE_FILE_BYTES + MS_LINE_TABLE_BYTES);

#endif
