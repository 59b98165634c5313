#pragma once
#include <optional>
#include <string>

#include "model/process.h"
#include "sources/cgroup_hierarchy.h"

namespace memscope {

// The path below the hierarchy; nothing for one that has been removed. Takes CAP_DAC_READ_SEARCH.
std::optional<std::string> cgroup_path_of(const CgroupHierarchy& hierarchy, CgroupId id);

}  // namespace memscope
