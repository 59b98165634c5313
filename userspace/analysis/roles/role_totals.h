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
// that share it. The anonymous memory of the cgroup (`cgroup_anon`) that is not own memory of one process is shared
// memory. It is divided among the sampled processes in proportion to the shared memory of each. The divisor of a shared
// page is at least two and at most the number of processes that could share it. This maximum is used for pages of files
// and of shared memory. It is also used for anonymous pages if a process was not read, or if the memory of the cgroup
// does not belong to these processes alone.
std::map<RoleKey, RolePss> sum_pss(std::span<const Process> processes, const SharingReadings& readings,
                                   std::optional<Bytes> cgroup_anon, std::uint64_t now_ns);

}  // namespace memscope
