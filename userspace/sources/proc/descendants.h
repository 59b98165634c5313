#pragma once
#include <compare>
#include <cstdint>
#include <sys/types.h>
#include <utility>
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

}  // namespace memscope
