#pragma once
#include <vector>

#include "model/deaths/death_report.h"

namespace memscope {

// What happened to a target between two ticks that whoever looks back at a death wants to know; other deaths are told
// elsewhere. `before` is null at its first tick.
std::vector<PastEvent> events_between(const TargetSnapshot* before, const TargetSnapshot& now, double time);

// What only the series knows, and only afterwards: when it began, when its warm-up ended, when its leak began.
std::vector<PastEvent> events_of_series(const TargetSnapshot& target);

}  // namespace memscope
