// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Tests on the running kernel that addresses of page faults are found. */
#include "growth/fault_address.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the collector: the pages that it touches for the test. */
__u64 tested_begin = 0;
__u64 tested_end = 0;
__u64 found_address = 0;

SEC("tp_btf/rss_stat") int BPF_PROG(fault_test, struct mm_struct *mm, int member)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 address;

	if (member != RSS_ANON || task->mm != mm)
		return 0;
	address = fault_of(ctx, task, mm).address;
	if (address >= tested_begin && address < tested_end)
		found_address = address;
	return 0;
}
