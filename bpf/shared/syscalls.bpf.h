/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* System call numbers and registers of the two architectures. They are part of the ABI and do not change. */
#ifndef MEMSCOPE_SYSCALLS_BPF_H
#define MEMSCOPE_SYSCALLS_BPF_H

#include "shared/kernel_types.bpf.h"

#if defined(__TARGET_ARCH_x86)
enum syscall_number {
	NR_MMAP = 9,
	NR_MPROTECT = 10,
	NR_MUNMAP = 11,
	NR_BRK = 12,
	NR_IOCTL = 16,
	NR_MREMAP = 25,
	NR_MADVISE = 28,
	NR_SHMAT = 30,
	NR_CLONE = 56,
	NR_FORK = 57,
	NR_VFORK = 58,
	NR_SHMDT = 67,
	NR_TRUNCATE = 76,
	NR_FTRUNCATE = 77,
	NR_FALLOCATE = 285,
	NR_PKEY_MPROTECT = 329,
	NR_CLONE3 = 435,
	NR_PROCESS_MADVISE = 440,
};

struct pt_regs {
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long r10;
	unsigned long r8;
	unsigned long orig_ax;
} __attribute__((preserve_access_index));

#define syscall_of(regs)        ((long)(regs)->orig_ax)
#define first_argument_of(regs) ((regs)->di)
#define argument_2_of(regs)     ((regs)->si)
#define argument_3_of(regs)     ((regs)->dx)
#define argument_4_of(regs)     ((regs)->r10)
#define argument_5_of(regs)     ((regs)->r8)
#elif defined(__TARGET_ARCH_arm64)
enum syscall_number {
	NR_IOCTL = 29,
	NR_TRUNCATE = 45,
	NR_FTRUNCATE = 46,
	NR_FALLOCATE = 47,
	NR_SHMAT = 196,
	NR_SHMDT = 197,
	NR_BRK = 214,
	NR_MUNMAP = 215,
	NR_MREMAP = 216,
	NR_CLONE = 220,
	NR_MMAP = 222,
	NR_MPROTECT = 226,
	NR_MADVISE = 233,
	NR_PKEY_MPROTECT = 288,
	NR_CLONE3 = 435,
	NR_PROCESS_MADVISE = 440,
	NR_FORK = -2, /* arm64 has neither fork nor vfork */
	NR_VFORK = -3,
};

struct pt_regs {
	__u64 regs[31];
	__u64 orig_x0; /* the first argument: x0 has the return value by now */
	__s32 syscallno;
} __attribute__((preserve_access_index));

#define syscall_of(regs)        ((long)(regs)->syscallno)
#define first_argument_of(regs) ((regs)->orig_x0)
#define argument_2_of(regs)     ((regs)->regs[1])
#define argument_3_of(regs)     ((regs)->regs[2])
#define argument_4_of(regs)     ((regs)->regs[3])
#define argument_5_of(regs)     ((regs)->regs[4])
#else
#error "memscope knows x86 and arm64"
#endif

#endif
