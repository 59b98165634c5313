/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Allocations that the CUDA driver refused, and host tensors that PyTorch could not allocate: kept to explain
 * a death. Shared by all objects. */
#ifndef MEMSCOPE_FAILURES_BPF_H
#define MEMSCOPE_FAILURES_BPF_H

#include "shared/kernel_types.bpf.h"
#include <memscope/shared/deaths.h>

/* By pid. Written by the object of CUDA calls if that object is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_CUDA_FAILURES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct ms_cuda_failure);
} cuda_failures SEC(".maps");

/* By pid. Written by the object of host tensors if that object is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_HOST_FAILURES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct ms_host_failure);
} host_failures SEC(".maps");

#endif
