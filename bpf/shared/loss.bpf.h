/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Each object counts its own losses. The collector maps these counters and adds them up by reason. */
#ifndef MEMSCOPE_LOSS_BPF_H
#define MEMSCOPE_LOSS_BPF_H

#include "shared/kernel_types.bpf.h"
#include <memscope/shared/wire.h>

__u64 losses[MS_LOSS_COUNT] = {};

static __always_inline void count_loss(enum ms_loss reason)
{
	__sync_fetch_and_add(&losses[reason], 1);
}

#endif
