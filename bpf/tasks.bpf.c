// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Every watched process with its exact numbers, in one read. */
#include "mappings.bpf.h"
#include "membership.bpf.h"
#include "rss.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A vfork child runs in its parent's address space, which must not be counted again. The kernel keeps the
 * owner of an address space for the memory controller's sake; without that, vfork() alone cannot be told. */
static __always_inline bool owns_memory(struct mm_struct *mm, __u32 pid)
{
	struct task_struct *owner;

	if (!bpf_core_field_exists(mm->owner))
		return true;
	owner = BPF_CORE_READ(mm, owner);
	return !owner || BPF_CORE_READ(owner, tgid) == pid;
}

/* A copy whose sums are its total. Other threads book meanwhile: then it is taken again. */
static __always_inline bool copy_mappings(struct ms_mappings *to, struct ms_mappings *from)
{
	__u64 sum = 0;

	*to = *from;
	for (int i = 0; i < MS_MAPPED_COUNT; i++)
		sum += to->mapped[i];
	for (int i = 0; i < MS_UNMAPPED_COUNT; i++)
		sum -= to->unmapped[i];
	return sum == to->total_pages;
}

static __always_inline void describe_mappings(struct ms_task *row)
{
	struct address_space *space = bpf_map_lookup_elem(&mappings, &row->pid);
	struct ms_mappings *m = space ? &space->mappings : NULL;

	if (space && space->start_ns != row->start_ns)
		m = NULL; /* of a predecessor whose exit nobody saw */
	if (m)
		book(m, row->virtual_pages, MS_MAPPED_OTHER, MS_UNMAPPED_OTHER);
	else
		m = begin_mappings(row->pid, row->start_ns, row->virtual_pages, MS_MAPPED_OTHER);
	if (!m)
		return;
	for (int attempt = 0; attempt < 8; attempt++) {
		if (!copy_mappings(&row->mappings, m))
			continue;
		row->flags |= MS_TASK_HAS_MAPPINGS;
		row->virtual_pages = row->mappings.total_pages;
		return;
	}
	count_loss(MS_LOSS_MAPPINGS_TORN);
}

/* Too large for the stack of a program. One scan runs at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ms_task);
} rows SEC(".maps");

typedef void (*page_summer)(struct thread_sums *sums, __s64 pages[4]);

static __always_inline void describe_memory(struct ms_task *row, struct thread_sums *sums,
                                            page_summer sum_pages)
{
	struct mm_struct *mm = sums->mm;
	__s64 pages[4] = {};

	if (!mm || !owns_memory(mm, row->pid))
		return;
	sum_pages(sums, pages);
	row->flags |= MS_TASK_OWNS_MEMORY;
	row->file_pages = pages[RSS_FILE];
	row->anon_pages = pages[RSS_ANON];
	row->swap_pages = pages[RSS_SWAP];
	row->shmem_pages = pages[RSS_SHMEM];
	row->virtual_pages = BPF_CORE_READ(mm, total_vm);
	if (follow_mappings)
		describe_mappings(row);
	row->page_table_bytes = BPF_CORE_READ(mm, pgtables_bytes.counter);
}

static __always_inline int describe(struct seq_file *seq, struct task_struct *leader,
                                    thread_summer sum_threads_of, page_summer sum_pages)
{
	struct thread_walk walk = {};
	struct ms_task *row;
	__u32 first = 0;

	row = bpf_map_lookup_elem(&rows, &first);
	if (!row)
		return 0;
	__builtin_memset(row, 0, sizeof(*row));
	row->pid = BPF_CORE_READ(leader, tgid);
	if (row->pid == watcher_pid ||
	    BPF_CORE_READ(leader, signal, live.counter) == 0) /* a zombie is gone */
		return 0;
	row->target = target_of(leader);
	if (!row->target)
		return 0;
	row->time_ns = bpf_ktime_get_boot_ns();
	row->start_ns = BPF_CORE_READ(leader, start_boottime);
	row->cgroup = BPF_CORE_READ(memory_css(leader), cgroup, kn, id);
	row->parent = BPF_CORE_READ(leader, real_parent, tgid);
	row->threads = BPF_CORE_READ(leader, signal, nr_threads);
	row->mount_namespace = BPF_CORE_READ(leader, nsproxy, mnt_ns, ns.inum);
	row->flags = exec_flag(leader);
	bpf_core_read_str(row->comm, sizeof(row->comm), &leader->comm);
	sum_threads_of(&walk, leader);
	row->minor_faults = walk.sums.minor_faults;
	row->major_faults = walk.sums.major_faults;
	describe_memory(row, &walk.sums, sum_pages);
	bpf_seq_write(seq, row,
	              sizeof(*row)); /* no room: the kernel visits this task again at the next read */
	return 0;
}

/* Every thread is visited; the process is described once, by its leader. */
static __always_inline int on_visit(struct bpf_iter__task *ctx, thread_summer sum_threads_of,
                                    page_summer sum_pages)
{
	struct task_struct *task = ctx->task;

	if (!task || task->pid != task->tgid)
		return 0;
	return describe(ctx->meta->seq, task, sum_threads_of, sum_pages);
}

SEC("iter/task") /* 6.2 and later */
int tasks_iter_percpu(struct bpf_iter__task *ctx)
{
	if (ctx->meta->seq_num == 0)
		find_cpu_offsets();
	return on_visit(ctx, sum_threads, sum_percpu);
}

SEC("iter/task") /* before; without bpf_loop() and its callbacks, which 5.10 does not take even as dead code
                  */
                 int
                 tasks_iter_threads(struct bpf_iter__task *ctx)
{
	return on_visit(ctx, sum_threads_bounded, sum_thread_parts);
}
