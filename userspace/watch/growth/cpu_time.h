#pragma once
#include <set>
#include <sys/types.h>

#include "base/files.h"
#include "base/units.h"

namespace memscope {

// CPU time of these processes and of their ended children since their start. Reads at most 256 of them.
Seconds cpu_time_of(const SysRoot& root, const std::set<pid_t>& processes);

}  // namespace memscope
