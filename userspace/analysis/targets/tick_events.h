#pragma once
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// A change between two ticks of a target, as recordings keep it.
struct TickEvent {
    std::string kind{};  // "verdict", "precursor", "precursor_over", "death"
    std::string text{};  // "leaking: ..."
};

// `before`: the target at the previous tick; null at the first tick.
std::vector<TickEvent> events_of_tick(const TargetSnapshot* before, const TargetSnapshot& now);

// Parts of the comparison, for other outputs that show changes. `before` is null at the first tick.
bool verdict_changed(const TargetSnapshot* before, const TargetSnapshot& now);
std::vector<const Precursor*> begun_precursors(const TargetSnapshot* before, const TargetSnapshot& now);  // of `now`
std::vector<const Precursor*> ended_precursors(const TargetSnapshot* before, const TargetSnapshot& now);  // of `before`

}  // namespace memscope
