#pragma once
#include <vector>

#include "model/deaths/death_report.h"

namespace memscope {

// Events of a target between two ticks that help to understand a later death. Other deaths are reported elsewhere.
// `before` is null at the first tick.
std::vector<PastEvent> events_between(const TargetSnapshot* before, const TargetSnapshot& now, double time);

// Events that only the series shows, and only afterwards: when watching began, a restart or a fall of memory, the end
// of the warm-up, the beginning of the leak.
std::vector<PastEvent> events_of_series(const TargetSnapshot& target);

}  // namespace memscope
