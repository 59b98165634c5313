#pragma once
#include <string>

#include "model/snapshot.h"

namespace memscope {

// The kind of a target, without its name: "cgroup v2", "pid 4711, cgroup v2".
std::string target_kind_text(const TargetInfo& target);

}  // namespace memscope
