/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef MEMSCOPE_ANON_PAGES_BPF_H
#define MEMSCOPE_ANON_PAGES_BPF_H

#include "shared/kernel_types.bpf.h"

/* Resident anonymous pages from the shared counter alone. The counter lags by a few pages per CPU or thread,
 * which is exact enough because no caller sums the result. */
static __always_inline __s64 anon_pages_of(struct mm_struct *mm)
{
	if (bpf_core_type_exists(struct mm_rss_stat)) {
		struct mm_struct___before_6_2 *old = (void *)mm;

		return BPF_CORE_READ(old, rss_stat.count[RSS_ANON].counter);
	}
	return BPF_CORE_READ(mm, rss_stat[RSS_ANON].count);
}

#endif
