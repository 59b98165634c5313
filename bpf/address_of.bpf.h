/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef MEMSCOPE_ADDRESS_OF_BPF_H
#define MEMSCOPE_ADDRESS_OF_BPF_H

#include "kernel_types.bpf.h"

/* A pointer as a number: the verifier allows no arithmetic on a pointer to a map or to a context. */
static __always_inline __u64 address_of(const void *pointer)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &pointer);
	return number;
}

#endif
