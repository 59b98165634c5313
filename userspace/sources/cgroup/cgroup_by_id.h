#pragma once
#include <optional>
#include <string>

#include "model/processes/process.h"
#include "sources/cgroup/cgroup_hierarchy.h"

namespace memscope {

// Path of the cgroup below the hierarchy. None if it was removed. The search goes from the cgroup at `near` to the
// root. A cgroup elsewhere is found only with CAP_DAC_READ_SEARCH and where open_by_handle_at() is permitted.
std::optional<std::string> cgroup_path_of(const CgroupHierarchy& hierarchy, CgroupId id, const std::string& near);

}  // namespace memscope
