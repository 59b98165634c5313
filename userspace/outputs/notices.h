#pragma once
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// One plain line per event that matters between two ticks; what is printed where there is no terminal. Each
// begins with the target's name. `before` is null at the first tick.
std::vector<std::string> notices(const Snapshot* before, const Snapshot& now);

// Where there is no target yet. A name that was mistyped looks the same as one that is not there yet.
std::string waiting_notice(const std::vector<std::string>& names);

}  // namespace memscope
