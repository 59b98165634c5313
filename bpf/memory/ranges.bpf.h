/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Sends changes of address ranges to the collector, which keeps a map of each address space. */
#ifndef MEMSCOPE_RANGES_BPF_H
#define MEMSCOPE_RANGES_BPF_H

#include "memory/mappings.bpf.h"

const volatile __u32 follow_ranges = 0;

/* Range events have their own ring buffer, because a program can map at any rate. 4 MiB hold 40,000 events.
 * Shared by all objects. */
#define RANGES_RING_BYTES (4 << 20)
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RANGES_RING_BYTES);
} ranges SEC(".maps");

/* The collector reads the ring buffer at its ticks. It is woken early when a quarter of the ring buffer is
 * used, and only by the events around that mark, because a wake-up costs more than an event. A dropped event
 * is counted as a loss and in the address space: every later event has this count, so that the collector
 * reads /proc/PID/maps. */
#define WAKEUP_BYTES 2048
static __always_inline void send_range(struct ms_range *r, struct address_space *space, __u32 pid)
{
	__u64 wakeup = BPF_RB_NO_WAKEUP;

	r->h.time_ns = bpf_ktime_get_boot_ns();
	r->h.start_ns = space->start_ns;
	r->h.pid = pid;
	r->h.kind = MS_EVENT_RANGE;
	r->h.size = sizeof(*r);
	r->thread = (__u32)bpf_get_current_pid_tgid();
	r->generation = space->ranges.generation;
	r->lost = space->ranges.lost;
	if (bpf_ringbuf_query(&ranges, BPF_RB_AVAIL_DATA) - RANGES_RING_BYTES / 4 < WAKEUP_BYTES)
		wakeup = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&ranges, r, sizeof(*r), wakeup)) {
		count_loss(MS_LOSS_RANGES_FULL);
		add(&space->ranges.lost, 1);
	}
}

/* Sends the start or the end of an address space. */
static __always_inline void send_turn(enum ms_range_call call, struct address_space *space, __u32 pid,
                                      __u32 parent)
{
	struct ms_range r = {.call = call, .parent = parent};

	if (follow_ranges)
		send_range(&r, space, pid);
}

#endif
