#pragma once
#include <string>

#include "model/snapshot.h"

namespace memscope {

// A target as text: verdict, limit and headroom, memory by role, process tree. At most 80 columns wide.
std::string status_text(const Snapshot& snapshot, const TargetSnapshot& target, bool color);

}  // namespace memscope
