/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Call stacks as the BPF programs send them, and the offsets that they need to walk the frames of a Python interpreter.
 * Included by both sides, as wire.h is.
 */
#ifndef MEMSCOPE_SHARED_STACKS_H
#define MEMSCOPE_SHARED_STACKS_H

#include <memscope/shared/wire.h>

#define MS_PYTHON_FRAMES 64 /* a power of two: indexes are masked */
/* Of a deeper stack, the frames in the middle are left out. The outermost frames are in a ring. */
#define MS_PYTHON_OUTERMOST 16
#define MS_PYTHON_INNERMOST (MS_PYTHON_FRAMES - MS_PYTHON_OUTERMOST)
#define MS_NATIVE_FRAMES 32
#define MS_CODE_NAME_BYTES 128
#define MS_CODE_FILE_BYTES 256
#define MS_LINE_TABLE_BYTES 1024
/* The id of all stacks without an id of their own, for instance because the process has reached its maximum of
 * stacks. */
#define MS_STACK_OTHER 0

/* Offsets in bytes inside the CPython of one process. Found by the collector, by pid in the map `interpreters`. */
#define MS_PYTHON_NO_OFFSET 0xffffu
struct ms_python {
    __u64 runtime;          /* address of _PyRuntime in the process */
    __u32 interpreter_next; /* PyInterpreterState */
    __u32 interpreter_threads;
    __u16 version;              /* 310, 311, ... */
    __u16 runtime_interpreters; /* _PyRuntime: the first interpreter */
    __u16 thread_next;          /* PyThreadState */
    __u16 thread_id;            /* the kernel's thread id; pthread_self() if pthread_tid is set */
    __u16 thread_frame;
    __u16 cframe_frame; /* of the frame in the C frame that thread_frame points to; MS_PYTHON_NO_OFFSET: no C frame */
    __u16 pthread_tid;  /* 3.10: the thread id inside struct pthread; else 0 */
    __u16 frame_bytes;  /* number of bytes to read of a frame, at most 112 */
    __u16 frame_previous;
    __u16 frame_code;
    __u16 frame_instruction;
    __u16 frame_owner;   /* MS_PYTHON_NO_OFFSET: no such field (3.10) */
    __u16 code_bytecode; /* where the instructions begin; unused in 3.10 */
    __u16 code_file;
    __u16 code_name; /* the qualified name, from 3.11 on */
    __u16 code_first_line;
    __u16 code_line_table;
    __u16 text_data; /* characters of a compact ASCII string */
    __u16 bytes_size;
    __u16 bytes_data;
    __u32 pad;
};
MS_LAYOUT(ms_python, 64);

/* How the search for the Python stack ended. */
#define MS_PYTHON_OUTCOMES(X)                                                       \
    X(FOUND, "found")                                                               \
    X(NO_INTERPRETER, "no_interpreter") /* no Python, or no known layout */         \
    X(NO_THREAD, "no_thread")           /* a thread without a PyThreadState */      \
    X(NO_FRAME, "no_frame")             /* a thread that runs no Python code now */ \
    X(UNREADABLE, "unreadable")         /* the memory of the interpreter could not be read */
/* clang-format off */
#define X(name, word) MS_PYTHON_##name,
enum ms_python_outcome { MS_PYTHON_OUTCOMES(X) MS_PYTHON_OUTCOME_COUNT };
#undef X
/* clang-format on */

enum ms_stack_event_kind {
    MS_EVENT_STACK = 32,
    MS_EVENT_CODE = 33,
    MS_EVENT_GREW = 34, /* only the header: a process has grown for the first time */
    MS_EVENT_SAMPLE = 35,
};

/* Mean distance between two samples, in bytes of faulted-in pages. A sample stands for this many bytes, because a stack
 * walk at every page would cost too much. */
#define MS_SAMPLE_BYTES (512 << 10)
#define MS_SITES 16384
/* Maximum number of stacks of one process. The collector raises it when it has forgotten stacks of the process. The map
 * has room for more than four processes that make new stacks all the time. */
#define MS_STACKS_PER_PROCESS 3072
/* Of a process that runs Python: maximum number of whole stacks without Python calls. Further ones have their innermost
 * function only, because the callers that code without frame pointers shows are arbitrary. */
#define MS_NATIVE_STACKS 512

/* The address space of one process: by pid in the map `spaces`. */
struct ms_space {
    __u64 id;            /* of the address space; new after an exec */
    __u64 start_ns;      /* of the process */
    __u64 mm;            /* address of its mm_struct; 0: not known until the first change */
    __s64 start_pages;   /* anonymous pages when following began; they do not count as growth */
    __s64 pages;         /* at the last step, if growth is followed in steps */
    __u32 stacks;        /* number of stacks sent so far */
    __u32 grew_sent;     /* MS_EVENT_GREW was sent */
    __u32 period;        /* the value of `period` of the BPF object at the last step */
    __u32 native_stacks; /* of `stacks`, those without Python calls */
};
MS_LAYOUT(ms_space, 56);

/* MS_EVENT_SAMPLE: anonymous pages were added. The time in the header is that of the page fault, the target is the
 * address space. */
struct ms_sample {
    struct ms_header h;
    __u64 address; /* 0: not known, and `pages` is a net change, which can be negative */
    __u64 stack;
    __s64 pages;
};
MS_LAYOUT(ms_sample, 56);

struct ms_python_frame {
    __u64 code;        /* address of the code object */
    __u32 instruction; /* byte offset in its bytecode */
    __u32 first_line;
};
MS_LAYOUT(ms_python_frame, 16);

/* MS_EVENT_STACK: sent when an id is first seen, after the code objects of its frames. Innermost frames first, but see
 * MS_PYTHON_OUTERMOST. `native_count` is the number of valid entries in `native`. */
struct ms_stack {
    struct ms_header h;
    __u64 id;
    __u16 python_outcome; /* enum ms_python_outcome */
    __u16 python_count;
    __u16 python_left_out; /* frames in the middle */
    __u16 native_count;
    struct ms_python_frame python[MS_PYTHON_FRAMES];
    __u64 native[MS_NATIVE_FRAMES];
};
MS_LAYOUT(ms_stack, 32 + 16 + 16 * MS_PYTHON_FRAMES + 8 * MS_NATIVE_FRAMES);

/* MS_EVENT_CODE: a code object of a process, sent once. Longer texts are truncated, and the collector reads them from
 * the process while it lives. */
struct ms_code {
    struct ms_header h;
    __u64 code;
    __u32 first_line;
    __u32 line_table_bytes; /* full length; at most MS_LINE_TABLE_BYTES are sent */
    __u32 name_state;       /* PyASCIIObject.state of the name and of the file: whether it is ASCII */
    __u32 file_state;
    __u32 version; /* of the interpreter, as in struct ms_python */
    __u32 pad;
    char name[MS_CODE_NAME_BYTES]; /* NUL-terminated */
    char file[MS_CODE_FILE_BYTES];
    __u8 line_table[MS_LINE_TABLE_BYTES];
};
MS_LAYOUT(ms_code, 32 + 32 + MS_CODE_NAME_BYTES + MS_CODE_FILE_BYTES + MS_LINE_TABLE_BYTES);

#endif
