#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace memscope {

// A process and everyone who descends from it now, itself first. Who forks meanwhile may be missing.
std::vector<pid_t> read_descendants(const SysRoot& root, pid_t pid);
// The parents' pids of a list of (pid, parent): the pure part of it.
std::vector<pid_t> descendants_of(pid_t pid, const std::vector<std::pair<pid_t, pid_t>>& parents);

// The cgroup of a process in the hierarchy of the memory controller, without slashes around it; "" is the root.
std::optional<std::string> parse_cgroup_path(std::string_view proc_pid_cgroup, int version);
std::optional<std::string> read_cgroup_path(const SysRoot& root, pid_t pid, int version);
// The innermost cgroup that contains all of them.
std::string common_cgroup(const std::vector<std::string>& paths);

}  // namespace memscope
