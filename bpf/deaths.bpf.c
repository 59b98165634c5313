// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * Records which process sent a fatal signal to a watched process, and which victims the OOM killer marked.
 * This object does not decide the cause of a death: the record is sent when the process exits (tree), and the
 * collector decides from the whole record.
 *
 * The OOM killer first sends the SIGKILL and then marks the victim, both in the thread that asked for memory.
 * If that thread has to wait in between, the victim can exit before it is marked. So the exhausted limit is
 * recorded at the signal, and the mark only confirms that the sender was the OOM killer. The OOM killer also
 * marks processes that are already exiting, without a signal.
 */
#include "deaths/death_evidence.bpf.h"
#include "deaths/memory_limits.bpf.h"
#include "memory/anon_pages.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PF_EXITING 0x00000004
#define SIGBUS     7
#define SIGKILL    9

/* HUP INT QUIT ILL TRAP ABRT BUS FPE KILL SEGV PIPE TERM XCPU XFSZ SYS. Other fatal signals (USR1, ALRM, ...)
 * are left out, because programs use them in normal operation. */
#define FATAL_SIGNALS                                                                                        \
	(1ull << 1 | 1ull << 2 | 1ull << 3 | 1ull << 4 | 1ull << 5 | 1ull << 6 | 1ull << 7 | 1ull << 8 |     \
	 1ull << 9 | 1ull << 11 | 1ull << 13 | 1ull << 15 | 1ull << 24 | 1ull << 25 | 1ull << 31)

/* The beginning of siginfo_t, part of the ABI. */
struct signal_info {
	__s32 number;
	__s32 error;
	__s32 code;
	__s32 pad;
	__u64 address; /* of a fault */
};

/* Values that the kernel passes instead of a siginfo address: sent on behalf of the current process, or by
 * the kernel itself. */
#define INFO_OF_CURRENT 0ul
#define INFO_OF_KERNEL  1ul

/* The last task to which a thread sent a SIGKILL on behalf of the kernel, by the id of the sending thread. */
struct killing {
	__u64 time_ns;
	struct task_struct *task;
	__u32 thread;
	__u32 victim; /* process id of the victim, 0 until it is marked */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct killing);
} killers SEC(".maps");

static const struct ms_death_evidence nothing = {};

static __always_inline struct ms_death_evidence *evidence_of(struct task_struct *leader)
{
	__u64 start_ns = BPF_CORE_READ(leader, start_boottime);
	__u32 pid = BPF_CORE_READ(leader, tgid);
	struct ms_death_evidence *evidence = bpf_map_lookup_elem(&death_evidence, &pid);

	if (evidence && evidence->start_ns == start_ns)
		return evidence;
	if (bpf_map_update_elem(&death_evidence, &pid, &nothing, BPF_ANY)) {
		count_loss(MS_LOSS_LAST_WORDS_FULL);
		return NULL;
	}
	evidence = bpf_map_lookup_elem(&death_evidence, &pid);
	if (evidence)
		evidence->start_ns = start_ns;
	return evidence;
}

static __always_inline void describe(struct ms_sent_signal *sent, int number, unsigned long info,
                                     const struct signal_info *details)
{
	struct task_struct *sender = (void *)bpf_get_current_task();
	struct task_struct *leader = BPF_CORE_READ(sender, group_leader);

	sent->time_ns = bpf_ktime_get_boot_ns();
	sent->sender_target = target_of(leader);
	sent->sender = BPF_CORE_READ(sender, tgid);
	sent->number = number;
	sent->code = details->code;
	/* The code is positive for signals of faults, timers and terminals. It is 0 or negative for signals
	 * that a process sends. */
	sent->flags = info == INFO_OF_KERNEL || details->code > 0 ? MS_SENT_BY_KERNEL : 0;
	if (BPF_CORE_READ(sender, flags) & PF_EXITING)
		sent->flags |= MS_SENT_AT_EXIT;
	bpf_core_read_str(sent->comm, sizeof(sent->comm), &leader->comm);
}

/* Records which limit is exhausted and which process asked for memory. Runs in the thread that asked for
 * memory. */
static __always_inline void note_shortage(struct ms_oom_mark *mark, struct task_struct *victim)
{
	struct task_struct *trigger = (void *)bpf_get_current_task();
	struct task_struct *trigger_leader = BPF_CORE_READ(trigger, group_leader);
	struct mm_struct *mm = BPF_CORE_READ(victim, mm);

	__builtin_memset(mark, 0, sizeof(*mark));
	mark->thread = BPF_CORE_READ(victim, pid);
	mark->trigger = BPF_CORE_READ(trigger, tgid);
	bpf_core_read_str(mark->trigger_comm, sizeof(mark->trigger_comm), &trigger_leader->comm);
	mark->anon_pages = mm ? anon_pages_of(mm) : 0;
	find_full_cgroup(mark, BPF_CORE_READ(victim, group_leader));
}

/* After its victim the OOM killer also kills the other processes that share the victim's address space. It
 * does not mark these other processes. */
static __always_inline void kill_with_victim(struct ms_death_evidence *evidence, __u32 pid)
{
	__u32 thread = bpf_get_current_pid_tgid();
	struct killing *before = bpf_map_lookup_elem(&killers, &thread);
	struct ms_death_evidence *victim;
	__u32 key;

	if (!before || !before->victim || before->victim == pid ||
	    evidence->kill.time_ns - before->time_ns > 1000000000ull)
		return;
	key = before->victim;
	victim = bpf_map_lookup_elem(&death_evidence, &key);
	if (!victim || victim == evidence)
		return;
	evidence->kill.flags |= MS_SENT_WITH_VICTIM;
	__builtin_memcpy(&evidence->oom, &victim->oom, sizeof(evidence->oom));
	evidence->oom.time_ns = 0;
}

static __always_inline void on_kill(struct ms_death_evidence *evidence, struct task_struct *task,
                                    unsigned long info, const struct signal_info *details)
{
	__u32 thread = bpf_get_current_pid_tgid();
	struct killing now = {.task = task, .thread = BPF_CORE_READ(task, pid)};

	if (evidence->kill.number)
		return;
	describe(&evidence->kill, SIGKILL, info, details);
	if (info != INFO_OF_KERNEL)
		return;
	kill_with_victim(evidence, BPF_CORE_READ(task, tgid));
	if (evidence->kill.flags & MS_SENT_WITH_VICTIM)
		return;
	if (!(evidence->kill.flags & MS_SENT_AT_EXIT) && !evidence->oom.time_ns)
		note_shortage(&evidence->oom, task);
	now.time_ns = evidence->kill.time_ns;
	bpf_map_update_elem(&killers, &thread, &now, BPF_ANY); /* LRU map: the oldest entry is evicted */
}

/* A signal handler that has finished often raises the same signal again, so that the process dies of it. */
static __always_inline bool is_raised_again(const struct ms_sent_signal *before, int number, __u32 pid)
{
	return before->number == (__u32)number && (before->flags & MS_SENT_BY_KERNEL) &&
	       bpf_get_current_pid_tgid() >> 32 == pid;
}

typedef void (*mapping_finder)(struct ms_full_file *file, __u64 address);

static __always_inline int on_signal(int number, unsigned long info, struct task_struct *task, int result,
                                     mapping_finder find_mapping)
{
	struct task_struct *leader;
	struct ms_death_evidence *evidence;
	struct signal_info details = {};

	/* result 1 (TRACE_SIGNAL_IGNORED): the process ignores the signal, or it is already exiting. */
	if (number < 1 || number > 31 || !(FATAL_SIGNALS >> number & 1) || result == 1)
		return 0;
	leader = BPF_CORE_READ(task, group_leader);
	if (!target_of(leader))
		return 0;
	evidence = evidence_of(leader);
	if (!evidence)
		return 0;
	if (info > INFO_OF_KERNEL)
		bpf_probe_read_kernel(&details, sizeof(details), (void *)info);
	if (number == SIGKILL) {
		on_kill(evidence, task, info, &details);
		return 0;
	}
	if (details.code <= 0 && is_raised_again(&evidence->other, number, BPF_CORE_READ(task, tgid)))
		return 0;
	describe(&evidence->other, number, info, &details);
	if (number == SIGBUS && details.code > 0) {
		__builtin_memset(&evidence->bus, 0, sizeof(evidence->bus));
		find_mapping(&evidence->bus, details.address);
	}
	return 0;
}

static __always_inline int on_victim(struct task_struct *victim)
{
	struct task_struct *leader = BPF_CORE_READ(victim, group_leader);
	__u32 pid = BPF_CORE_READ(victim, tgid), thread = bpf_get_current_pid_tgid();
	struct killing *killing = bpf_map_lookup_elem(&killers, &thread);
	struct ms_death_evidence *evidence;

	if (killing && killing->thread == BPF_CORE_READ(victim, pid))
		killing->victim = pid;
	if (!target_of(leader))
		return 0;
	evidence = evidence_of(leader);
	if (!evidence || evidence->oom.time_ns)
		return 0;
	if (evidence->oom.trigger != bpf_get_current_pid_tgid() >> 32)
		note_shortage(&evidence->oom, victim);
	evidence->oom.time_ns = bpf_ktime_get_boot_ns();
	return 0;
}

/* For kernels whose tracepoint passes only the pid of the victim. The same thread has sent the SIGKILL just
 * before, so `killers` has the task of the victim. */
static __always_inline int on_victim_number(__u32 victim)
{
	__u32 thread = bpf_get_current_pid_tgid();
	struct killing *killing = bpf_map_lookup_elem(&killers, &thread);

	return killing && killing->thread == victim ? on_victim(killing->task) : 0;
}

static __always_inline void no_mapping(struct ms_full_file *file, __u64 address)
{
}

static long take_mapping(struct task_struct *task, struct vm_area_struct *area, struct ms_full_file *file)
{
	struct file *mapped = BPF_CORE_READ(area, vm_file);
	const unsigned char *name;

	if (!mapped)
		return 0;
	file->magic = BPF_CORE_READ(mapped, f_inode, i_sb, s_magic);
	file->device = BPF_CORE_READ(mapped, f_inode, i_sb, s_dev);
	name = BPF_CORE_READ(mapped, f_path.dentry, d_name.name);
	bpf_probe_read_kernel_str(file->name, sizeof(file->name), name);
	return 0;
}

static __always_inline void find_mapping(struct ms_full_file *file, __u64 address)
{
	struct ms_full_file found = {};

	bpf_find_vma(bpf_get_current_task_btf(), address, take_mapping, &found, 0);
	__builtin_memcpy(file, &found, sizeof(found));
}

SEC("tp_btf/signal_generate") /* 5.17 and later: bpf_find_vma() finds the file of a SIGBUS */
int BPF_PROG(deaths_signal_mapping, int number, struct kernel_siginfo *info, struct task_struct *task, int group,
             int result)
{
	return on_signal(number, (unsigned long)info, task, result, find_mapping);
}

SEC("tp_btf/signal_generate") int BPF_PROG(deaths_signal, int number, struct kernel_siginfo *info,
                                           struct task_struct *task, int group, int result)
{
	return on_signal(number, (unsigned long)info, task, result, no_mapping);
}

SEC("tp_btf/mark_victim") int BPF_PROG(deaths_victim, struct task_struct *victim)
{
	return on_victim(victim);
}

SEC("tp_btf/mark_victim") /* older kernels pass only the pid */
int BPF_PROG(deaths_victim_number, int victim)
{
	return on_victim_number(victim);
}
