/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Arguments of a C function at its entry and its result at its return, by the ABI of each architecture. */
#ifndef MEMSCOPE_USER_CALLS_BPF_H
#define MEMSCOPE_USER_CALLS_BPF_H

#include "shared/kernel_types.bpf.h"

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long cx;
	unsigned long r8;
	unsigned long ax;
	unsigned long sp;
} __attribute__((preserve_access_index));

#define call_argument_1(frame) ((frame)->di)
#define call_argument_2(frame) ((frame)->si)
#define call_argument_3(frame) ((frame)->dx)
#define call_argument_4(frame) ((frame)->cx)
#define call_argument_5(frame) ((frame)->r8)
#define call_result(frame)     ((__u32)(frame)->ax)
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
} __attribute__((preserve_access_index));

#define call_argument_1(frame) ((frame)->regs[0])
#define call_argument_2(frame) ((frame)->regs[1])
#define call_argument_3(frame) ((frame)->regs[2])
#define call_argument_4(frame) ((frame)->regs[3])
#define call_argument_5(frame) ((frame)->regs[4])
#define call_result(frame)     ((__u32)(frame)->regs[0])
#else
#error "memscope knows x86 and arm64"
#endif

#define stack_pointer(frame) ((__u64)(frame)->sp)

#endif
