/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Fatal signals and the OOM mark of a process: collected in a map while it lives, sent in its death event
 * when it exits. Shared by all objects. */
#ifndef MEMSCOPE_DEATH_EVIDENCE_BPF_H
#define MEMSCOPE_DEATH_EVIDENCE_BPF_H

#include "deaths/failures.bpf.h"
#include "memory/mappings.bpf.h"
#include "processes/membership.bpf.h"
#include <memscope/shared/deaths.h>

/* By pid. Preallocated, because entries are needed when memory is short. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MS_DEATH_EVIDENCE_ENTRIES);
	__type(key, __u32);
	__type(value, struct ms_death_evidence);
} death_evidence SEC(".maps");

/* Deaths have their own ring buffer, because a job that forks in a tight loop can fill the ring buffer of
 * process events. 2 MiB hold 4,000 deaths. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20);
} deaths SEC(".maps");

static __always_inline bool explains_exit(__u64 failed_ns, int code, __u64 now)
{
	return code && failed_ns && now - failed_ns < MS_FAILURE_EXPLAINS_NS;
}

#define SIGNAL_OF(exit_code) ((exit_code) & 0x7f)

/* Default wake-up: a death wakes the collector if it has read all earlier records. */
static __always_inline void send_death(struct task_struct *leader, __u32 pid, __u64 target, int code)
{
	struct address_space *space = follow_mappings ? mappings_of(pid) : NULL;
	struct ms_cuda_failure *cuda = bpf_map_lookup_elem(&cuda_failures, &pid);
	struct ms_host_failure *host = bpf_map_lookup_elem(&host_failures, &pid);
	__u64 now = bpf_ktime_get_boot_ns();
	struct ms_death_evidence *evidence;
	struct ms_death *e;

	if (!SIGNAL_OF(code) && !(space && explains_exit(space->failure.time_ns, code, now)) &&
	    !(cuda && explains_exit(cuda->time_ns, code, now)) &&
	    !(host && explains_exit(host->time_ns, code, now)))
		return;
	e = bpf_ringbuf_reserve(&deaths, sizeof(*e), 0);
	if (!e) {
		count_loss(MS_LOSS_DEATHS_FULL);
		return;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->h.time_ns = now;
	e->h.start_ns = BPF_CORE_READ(leader, start_boottime);
	e->h.target = target;
	e->h.pid = pid;
	e->h.kind = MS_EVENT_DEATH;
	e->h.size = sizeof(*e);
	bpf_core_read_str(e->comm, sizeof(e->comm), &leader->comm);
	e->exit_code = code;
	e->parent = BPF_CORE_READ(leader, real_parent, tgid);
	if (space)
		e->failure = space->failure;
	if (cuda)
		e->cuda_failure = *cuda;
	if (host)
		e->host_failure = *host;
	evidence = bpf_map_lookup_elem(&death_evidence, &pid);
	if (evidence && evidence->start_ns == e->h.start_ns)
		__builtin_memcpy(&e->evidence, evidence, sizeof(e->evidence));
	bpf_ringbuf_submit(e, 0);
}

#endif
