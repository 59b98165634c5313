#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/files.h"
#include "model/processes/process.h"
#include "sources/cgroup/cgroup_hierarchy.h"

namespace memscope {

// The argument of --cgroup. `path` is relative to the hierarchy, without slashes around it; "" is the root.
struct CgroupName {
    std::string path{};
    bool glob = false;
};

// Accepts `train`, `/train`, an absolute cgroup directory, a systemd unit, a glob, and "/" for the root.
Result<CgroupName> parse_cgroup_name(std::string_view typed, const CgroupHierarchy& hierarchy);

// The cgroup of a process in the hierarchy of the memory controller, without slashes around it; "" is the root.
std::optional<std::string> parse_cgroup_path(std::string_view proc_pid_cgroup, int version);
Result<std::string> read_cgroup_path(const SysRoot& root, pid_t pid, int version);
// Path of the cgroup below the hierarchy. None if it was removed. The search goes from the cgroup at `near` to the
// root. A cgroup elsewhere is found only with CAP_DAC_READ_SEARCH and where open_by_handle_at() is permitted.
std::optional<std::string> cgroup_path_of(const CgroupHierarchy& hierarchy, CgroupId id, const std::string& near);
// The innermost cgroup that contains all these cgroups.
std::string common_cgroup(const std::vector<std::string>& paths);

std::string_view last_component(std::string_view path);
std::string joined(std::string_view path, std::string_view name);
// Existing names that are similar to `wanted`, best first, compared by the last component.
std::vector<std::string> similar_names(std::string_view wanted, const std::vector<std::string>& existing,
                                       std::size_t most = 3);

}  // namespace memscope
