#pragma once
#include <functional>

#include "base/files.h"

namespace memscope {

// The BPF map of the processes that are followed by pid.
struct FollowedPids {
    std::function<Status(pid_t)> add{};
    std::function<void(pid_t)> remove{};
};

// Adds a process and its present descendants to the map. From then on the BPF programs add each child at its fork and
// remove each process at its exit. A process can end after it was found in /proc and before its pid is in the map. Then
// no exit event removes the pid, and the next process with this pid would join the tree. So each process is checked
// again once it is in the map, and removed unless it is still the same process with a running thread. An error if the
// map is full, or if none of the processes runs any more.
Status follow_tree(const SysRoot& root, pid_t pid, const FollowedPids& map);

}  // namespace memscope
