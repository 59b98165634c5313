#pragma once
#include <string>

#include "model/snapshot.h"

namespace memscope {

// A target for a person: how near the end, who holds the memory, which processes. At most 80 columns wide.
std::string status_text(const Snapshot& snapshot, const TargetSnapshot& target, bool color);

}  // namespace memscope
