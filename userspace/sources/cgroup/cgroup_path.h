#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sources/cgroup/cgroup_hierarchy.h"

namespace memscope {

// What a user typed after --cgroup. `path` is relative to the hierarchy, without slashes around it; "" is the root.
struct CgroupName {
    std::string path{};
    bool glob = false;
};

// Takes `train`, `/train`, an absolute cgroup directory, a systemd unit, a glob, and "/" for the root.
Result<CgroupName> parse_cgroup_name(std::string_view typed, const CgroupHierarchy& hierarchy);

std::string_view last_component(std::string_view path);
std::string joined(std::string_view path, std::string_view name);
// What the user may have meant, best first, judged by the last component.
std::vector<std::string> near_names(std::string_view wanted, const std::vector<std::string>& existing,
                                    std::size_t most = 3);

}  // namespace memscope
