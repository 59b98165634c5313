#pragma once
#include <vector>

#include "model/deaths/death_report.h"

namespace memscope {

// Events of a target between two ticks that help to understand a later death. Other deaths are reported elsewhere.
// `before` is null at the first tick.
std::vector<PastEvent> events_between(const TargetSnapshot* before, const TargetSnapshot& now, double time);

// Events that are known only from the series and only afterwards: when it began, when its warm-up ended, when its leak
// began.
std::vector<PastEvent> events_of_series(const TargetSnapshot& target);

}  // namespace memscope
