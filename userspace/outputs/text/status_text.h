#pragma once
#include <string>

#include "model/snapshot.h"

namespace memscope {

// A target as text: verdict, limit and headroom, memory by role, process tree. At most 80 columns wide.
std::string status_text(const Snapshot& snapshot, const TargetSnapshot& target, bool color);

// The kind of a target, without its name: "cgroup v2", "pid 4711, cgroup v2".
std::string target_kind_text(const TargetInfo& target);

}  // namespace memscope
