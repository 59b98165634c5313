#pragma once
#include <map>
#include <span>

#include "model/sharing.h"
#include "model/snapshot.h"

namespace memscope {

// Gauges by role and rank. A process without an address space of its own counts as a process and adds no memory.
std::map<RoleKey, RoleTotals> sum_by_role(std::span<const Process> processes);

// The PSS by role and rank, which counts each page once. A role is included only if the readings cover at least three
// quarters of its resident memory, because a more incomplete sum would look like freed memory.
//
// For a process whose pages were only sampled, the amount of shared memory is known, but not the number of processes
// that share it. The memory of the cgroup that no process has alone is shared by all of them, so it is divided in
// proportion. The divisor is at least two and at most the number of processes that could share the memory. That maximum
// is used if the memory of the cgroup (`cgroup_anon`) does not belong to these processes alone.
std::map<RoleKey, RolePss> sum_pss(std::span<const Process> processes, const SharingReadings& readings,
                                   std::optional<Bytes> cgroup_anon, std::uint64_t now_ns);

}  // namespace memscope
