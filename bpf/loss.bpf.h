/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Each object counts its own losses; the collector adds them up by reason. */
#ifndef MEMSCOPE_LOSS_BPF_H
#define MEMSCOPE_LOSS_BPF_H

#include "kernel_types.bpf.h"
#include <memscope/shared/wire.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MS_LOSS_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

static __always_inline void count_loss(enum ms_loss reason)
{
	__u32 slot = reason;
	__u64 *n = bpf_map_lookup_elem(&losses, &slot);
	if (n)
		*n += 1;
}

#endif
