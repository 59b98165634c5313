#pragma once
#include <functional>

#include "base/files.h"

namespace memscope {

// The map of the kernel side that says which processes are followed by pid.
struct FollowedPids {
    std::function<Status(pid_t)> add{};
    std::function<void(pid_t)> remove{};
};

// Puts a process and its present descendants into the map; from then on the kernel side adds their children at their
// birth and removes each at its exit. A process can end between the moment it is found in /proc and the moment its pid
// is in the map: then no exit event removes the pid, and whichever process gets it next would join the tree. So each is
// looked at again once it is in the map, and taken out unless it is still the same process and has a thread that lives.
// An error where the map is full, and where none of them lives any more.
Status follow_tree(const SysRoot& root, pid_t pid, const FollowedPids& map);

}  // namespace memscope
