// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Tests on the running kernel that addresses of page faults are found. */
#include "fault_address.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the collector: the thread that faults for the test. */
__u32 tested_thread = 0;
__u64 found_address = 0;

SEC("tp_btf/rss_stat") int BPF_PROG(fault_test, struct mm_struct *mm, int member)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (member == RSS_ANON && task->pid == tested_thread && task->mm == mm)
		found_address = fault_of(ctx, task, mm).address;
	return 0;
}
