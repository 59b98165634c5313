#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sources/cgroup/cgroup_hierarchy.h"

namespace memscope {

// The argument of --cgroup. `path` is relative to the hierarchy, without slashes around it; "" is the root.
struct CgroupName {
    std::string path{};
    bool glob = false;
};

// Accepts `train`, `/train`, an absolute cgroup directory, a systemd unit, a glob, and "/" for the root.
Result<CgroupName> parse_cgroup_name(std::string_view typed, const CgroupHierarchy& hierarchy);

std::string_view last_component(std::string_view path);
std::string joined(std::string_view path, std::string_view name);
// Existing names that are similar to `wanted`, best first, compared by the last component.
std::vector<std::string> similar_names(std::string_view wanted, const std::vector<std::string>& existing,
                                       std::size_t most = 3);

}  // namespace memscope
