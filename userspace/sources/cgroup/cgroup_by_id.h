#pragma once
#include <optional>
#include <string>

#include "model/processes/process.h"
#include "sources/cgroup/cgroup_hierarchy.h"

namespace memscope {

// The path below the hierarchy; nothing for one that has been removed. It is looked for from the cgroup at `near` up;
// elsewhere it is found only with CAP_DAC_READ_SEARCH, and where open_by_handle_at() may be called.
std::optional<std::string> cgroup_path_of(const CgroupHierarchy& hierarchy, CgroupId id, const std::string& near);

}  // namespace memscope
