#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace memscope {

struct FoundProcess {
    pid_t pid = 0;
    std::uint64_t start = 0;  // clock ticks since boot: distinguishes it from a later process with the same pid
    auto operator<=>(const FoundProcess&) const = default;
};

// The process with its descendants at this moment, the process itself first. A process that is forked during the read
// may be missing.
std::vector<FoundProcess> read_descendants(const SysRoot& root, pid_t pid);
// Like read_descendants(), from a list of (process, pid of its parent), without I/O.
std::vector<FoundProcess> descendants_of(pid_t pid, const std::vector<std::pair<FoundProcess, pid_t>>& parents);
// True if the pid still belongs to that process and at least one of its threads has not begun to exit. The kernel marks
// a thread as exiting before it reports the exit, so the exit event of such a process is still to come.
bool still_lives(const SysRoot& root, const FoundProcess& process);

// The cgroup of a process in the hierarchy of the memory controller, without slashes around it; "" is the root.
std::optional<std::string> parse_cgroup_path(std::string_view proc_pid_cgroup, int version);
Result<std::string> read_cgroup_path(const SysRoot& root, pid_t pid, int version);
// The innermost cgroup that contains all these cgroups.
std::string common_cgroup(const std::vector<std::string>& paths);

}  // namespace memscope
