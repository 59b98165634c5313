#pragma once
#include <map>
#include <span>

#include "model/sharing.h"
#include "model/snapshot.h"

namespace memscope {

// Gauges by role and rank. A process without an address space of its own counts as a process and adds no memory.
std::map<RoleKey, RoleTotals> sum_by_role(std::span<const Process> processes);

// Each page once, by role and rank. Only roles three quarters of whose resident memory was there when it was read: a
// sum that lacks more would look like memory that was freed.
//
// Of a process whose pages were sampled it is known what it shares, but not with how many. All together they have what
// the cgroup has and nobody has alone, so that is divided in proportion; by at least two, and by no more than could
// share it, which is what counts where the cgroup's memory (`cgroup_anon`) is not of these processes alone.
std::map<RoleKey, RolePss> sum_pss(std::span<const Process> processes, const SharingReadings& readings,
                                   std::optional<Bytes> cgroup_anon, std::uint64_t now_ns);

}  // namespace memscope
