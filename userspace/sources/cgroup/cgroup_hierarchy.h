#pragma once
#include <functional>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "sources/proc/mountinfo.h"

namespace memscope {

// The cgroup hierarchy that has the memory controller.
struct CgroupHierarchy {
    int version = 2;
    fs::path mount{};
    bool hybrid = false;  // v1 and v2 are both mounted
};

Result<CgroupHierarchy> find_hierarchy(const SysRoot& root);

// The decision without I/O. `lists_memory` returns whether cgroup.controllers of a v2 mount contains "memory".
Result<CgroupHierarchy> choose_hierarchy(const std::vector<Mount>& mounts,
                                         const std::function<bool(const fs::path&)>& lists_memory);
bool names_memory(std::string_view list, char separator);

}  // namespace memscope
