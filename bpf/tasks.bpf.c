// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Lists every watched process with its exact memory and page faults, in one scan. */
#include "memory/mappings.bpf.h"
#include "processes/quick.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A vfork child runs in the address space of its parent, which must not be counted twice. Kernels with the
 * memory controller record the owner of an address space. Without it a vfork child cannot be recognized. */
static __always_inline bool owns_memory(struct mm_struct *mm, __u32 pid)
{
	struct task_struct *owner;

	if (!bpf_core_field_exists(mm->owner))
		return true;
	owner = BPF_CORE_READ(mm, owner);
	return !owner || BPF_CORE_READ(owner, tgid) == pid;
}

/* Removes the new entry if the process has exited or left the target meanwhile, because no later event would
 * remove it. */
static __always_inline struct address_space *begin_scanned(struct ms_task *row, struct task_struct *leader)
{
	struct address_space *space =
	    begin_mappings(row->pid, row->start_ns, row->virtual_pages, MS_MAPPED_OTHER);

	if (space && (BPF_CORE_READ(leader, signal, live.counter) == 0 || !target_of(leader))) {
		end_mappings(row->pid);
		return NULL;
	}
	return space;
}

/* Values that the previous scan left in the row. `valid` if that was the row of the same process. */
struct kept {
	__u64 activity;
	__u64 virtual_pages;
	bool valid;
};

/* Other threads can count changes during the copy: a thread changes the total first and then one of the sums.
 * So the row gets the size that follows from the sums, even if the total still differs from it in the second
 * copy (the other thread may be waiting for this CPU). That size can be one tick late, but in every row
 * mapped minus unmapped equals the size. */
static __always_inline void copy_mappings(struct ms_task *row, struct address_space *space)
{
	__u64 sum = 0;

	row->mappings_activity =
	    space->activity; /* first, so that changes during the copy are copied in the next scan */
	for (int attempt = 0; attempt < 2; attempt++) {
		row->mappings = space->mappings;
		sum = sum_of_mapped(&row->mappings);
		if (sum == row->mappings.total_pages)
			break;
	}
	if ((__s64)sum < 0) { /* threads counted the same unmapped pages twice: count_mapped() corrects it */
		count_mapped(space, row->virtual_pages, MS_MAPPED_OTHER, MS_UNMAPPED_OTHER);
		row->mappings = space->mappings;
		sum = sum_of_mapped(&row->mappings);
	}
	if ((__s64)sum < 0) {
		count_loss(MS_LOSS_MAPPINGS_TORN);
		return;
	}
	row->flags |= MS_TASK_HAS_MAPPINGS;
	row->virtual_pages = sum;
}

static __always_inline void describe_mappings(struct ms_task *row, struct task_struct *leader,
                                              const struct kept *kept)
{
	struct address_space *space = mappings_of(row->pid);

	if (space && space->start_ns == row->start_ns)
		count_mapped(space, row->virtual_pages, MS_MAPPED_OTHER, MS_UNMAPPED_OTHER);
	else
		space = begin_scanned(row, leader);
	if (!space)
		return;
	if (!kept->valid || kept->activity != space->activity) {
		copy_mappings(row, space);
		return;
	}
	row->mappings_activity = kept->activity;
	row->virtual_pages = kept->virtual_pages;
	row->flags |= MS_TASK_HAS_MAPPINGS;
}

/* Too large for the stack of a BPF program. Only one scan runs at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ms_task);
} rows SEC(".maps");

static __always_inline void put_pages(struct ms_task *row, const __s64 pages[4])
{
	row->flags |= MS_TASK_OWNS_MEMORY;
	row->file_pages = pages[RSS_FILE];
	row->anon_pages = pages[RSS_ANON];
	row->swap_pages = pages[RSS_SWAP];
	row->shmem_pages = pages[RSS_SHMEM];
}

typedef void (*page_summer)(struct thread_sums *sums, __s64 pages[4]);

static __always_inline void describe_memory(struct ms_task *row, struct task_struct *leader,
                                            struct thread_sums *sums, page_summer sum_pages)
{
	const struct kept nothing = {};
	struct mm_struct *mm = sums->mm;
	__s64 pages[4] = {};

	if (!mm || !owns_memory(mm, row->pid))
		return;
	sum_pages(sums, pages);
	put_pages(row, pages);
	row->virtual_pages = BPF_CORE_READ(mm, total_vm);
	if (follow_mappings)
		describe_mappings(row, leader, &nothing);
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
	if (is_own(leader, row->pid) ||
	    BPF_CORE_READ(leader, signal, live.counter) == 0) /* a zombie has no memory */
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
	describe_memory(row, leader, &walk.sums, sum_pages);
	bpf_seq_write(
	    seq, row,
	    sizeof(*row)); /* if the buffer is full, the kernel visits this task again at the next read */
	return 0;
}

/* The iterator visits every thread. The process is described once, at its group leader. */
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

SEC("iter/task") /* 5.17 and later */
int tasks_iter_threads(struct bpf_iter__task *ctx)
{
	return on_visit(ctx, sum_threads, sum_thread_parts);
}

/* Before 5.17: the verifier rejects bpf_loop() and its callbacks even as dead code. */
SEC("iter/task") int tasks_iter_threads_bounded(struct bpf_iter__task *ctx)
{
	return on_visit(ctx, sum_threads_bounded, sum_thread_parts);
}

/* Mapped into the memory of the collector, so that the collector needs no copy and no read(). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MS_SCAN_ROWS);
	__type(key, __u32);
	__type(value, struct ms_task);
} scan_rows SEC(".maps");

/* Number of watched processes in the last scan, even if scan_rows is too small for them. Read by the
 * collector. */
__u64 rows_wanted = 0;

/* Start of the window of threads that this scan visits. Threads are numbered in the order of the scan. A
 * process is in the window if the number of its first thread is in [turn, turn + MS_SCAN_THREADS). */
static __u64 turn = 0;

/* State of the current scan; only one runs at a time. Not on the stack, because there the verifier would
 * follow every value. */
struct scan {
	__u64 leader; /* the current process, as a number */
	struct membership known;
	__u64 threads; /* threads seen so far, of processes with more than one thread */
	__u64 time_ns;
};
static struct scan scan = {};

static __always_inline void quick_faults(struct ms_task *row, struct task_struct *leader)
{
	struct signal_struct *signal = leader->signal;
	__u64 position = scan.threads;

	row->minor_faults = signal->min_flt;
	row->major_faults = signal->maj_flt;
	if (row->threads > 1) {
		scan.threads += row->threads;
		if (position - turn < MS_SCAN_THREADS) {
			add_faults_of_threads(row, signal);
			return;
		}
		row->flags |= MS_TASK_FAULTS_PARTIAL;
	}
	row->minor_faults += leader->min_flt;
	row->major_faults += leader->maj_flt;
}

static __always_inline void quick_memory(struct ms_task *row, struct task_struct *leader,
                                         const struct kept *kept)
{
	struct mm_struct *mm = leader->mm;
	__s64 pages[4] = {};

	if (!mm) { /* the first thread may have exited: any other thread has the address space */
		struct thread_walk walk = {};

		if (row->threads == 1)
			return;
		sum_threads(&walk, leader);
		describe_memory(row, leader, &walk.sums, sum_percpu);
		return;
	}
	if (!quick_owns_memory(mm, row->pid))
		return;
	quick_sum_percpu(mm, pages);
	put_pages(row, pages);
	row->virtual_pages = mm->total_vm;
	if (follow_mappings)
		describe_mappings(row, leader, kept);
	row->page_table_bytes = mm->pgtables_bytes.counter;
}

/* The work for each process is in two functions that are not static: the verifier checks such a function
 * once, by itself, and not again on every path through the loop below. Such a function takes no kernel
 * pointer as an argument, so the process is passed as a number. Reads through it may fail but do no harm. */
static __always_inline struct task_struct *scanned_leader(void)
{
	return bpf_rdonly_cast((void *)scan.leader, bpf_core_type_id_kernel(struct task_struct));
}

__noinline int quick_is_watched(void)
{
	struct task_struct *leader = scanned_leader();

	if (leader->tgid == watcher_pid || leader->signal->live.counter == 0) /* a zombie has no memory */
		return false;
	if (is_spawner_or_child(leader->tgid, leader->real_parent->tgid))
		return false;
	find_membership(&scan.known, leader);
	return scan.known.target != 0;
}

__noinline int quick_describe(__u32 slot)
{
	struct task_struct *leader = scanned_leader();
	struct ms_task *row = bpf_map_lookup_elem(&scan_rows, &slot);
	struct kept kept = {};

	if (!row)
		return 0;
	kept.activity = row->mappings_activity;
	kept.virtual_pages = row->virtual_pages;
	kept.valid = row->flags & MS_TASK_HAS_MAPPINGS && row->pid == leader->tgid &&
	             row->start_ns == leader->start_boottime;

	/* Clears the row except for its mappings, which are valid only with their flag. */
	__builtin_memset(row, 0, __builtin_offsetof(struct ms_task, mappings));
	row->time_ns = scan.time_ns;
	row->start_ns = leader->start_boottime;
	row->target = scan.known.target;
	row->cgroup = scan.known.cgroup;
	row->pid = leader->tgid;
	row->parent = leader->real_parent->tgid;
	row->threads = leader->signal->nr_threads;
	row->mount_namespace = leader->nsproxy->mnt_ns->ns.inum;
	row->flags = leader->flags & PF_FORKNOEXEC ? MS_TASK_FORKED_WITHOUT_EXEC : 0;
	__builtin_memcpy(row->comm, leader->comm, sizeof(row->comm));
	quick_faults(row, leader);
	quick_memory(row, leader, &kept);
	return 0;
}

SEC("syscall") /* 6.7 and later; visits processes, while iter/task visits every thread */
int tasks_procs(void *ctx)
{
	struct bpf_iter_task processes;
	struct task_struct *leader;

	find_cpu_offsets();
	__builtin_memset(&scan, 0, sizeof(scan));
	rows_wanted = 0;
	bpf_rcu_read_lock();
	bpf_iter_task_new(&processes, NULL, EVERY_PROCESS);
	while ((leader = bpf_iter_task_next(&processes))) {
		scan.leader = (__u64)leader;
		if (!quick_is_watched())
			continue;
		/* The time is read once per 16 rows. An event can then be some microseconds newer than its
		 * row and be applied again, but none is lost. */
		if (rows_wanted % 16 == 0)
			scan.time_ns = bpf_ktime_get_boot_ns();
		quick_describe(rows_wanted++);
	}
	bpf_iter_task_destroy(&processes);
	bpf_rcu_read_unlock();
	turn = turn + MS_SCAN_THREADS < scan.threads ? turn + MS_SCAN_THREADS : 0;
	return 0;
}
