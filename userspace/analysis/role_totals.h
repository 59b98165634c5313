#pragma once
#include <map>
#include <span>

#include "model/snapshot.h"

namespace memscope {

// Gauges by role and rank. A process without an address space of its own counts as a process and adds no memory.
std::map<RoleKey, RoleTotals> sum_by_role(std::span<const Process> processes);

}  // namespace memscope
