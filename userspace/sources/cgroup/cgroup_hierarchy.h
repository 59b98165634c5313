#pragma once
#include <functional>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "sources/proc/mountinfo.h"

namespace memscope {

// The hierarchy the memory controller is on.
struct CgroupHierarchy {
    int version = 2;
    fs::path mount{};
    bool hybrid = false;  // v1 and v2 are both mounted
};

Result<CgroupHierarchy> find_hierarchy(const SysRoot& root);

// The decision alone. `lists_memory` says whether cgroup.controllers of a v2 mount has "memory" in it.
Result<CgroupHierarchy> choose_hierarchy(const std::vector<Mount>& mounts,
                                         const std::function<bool(const fs::path&)>& lists_memory);
bool names_memory(std::string_view list, char separator);

}  // namespace memscope
