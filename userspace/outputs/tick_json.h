#pragma once
#include <string>

#include "model/snapshot.h"

namespace memscope {

// One target at one tick, as one line of JSON without a newline at its end. Always valid UTF-8, whatever a
// process is called. Absent is null or left out, never 0 or -1.
std::string tick_json(const Snapshot& snapshot, const TargetSnapshot& target);

// {"targets":["train",...]}
std::string targets_json(const Snapshot& snapshot);

}  // namespace memscope
