#pragma once
#include <vector>

#include "model/snapshot.h"
#include "view/line.h"

namespace memscope::view {

// A line for each GPU, those the target holds memory of first. Where there are more than rows, the last says how many.
std::vector<Line> gpu_panel(const Snapshot& snapshot, const TargetSnapshot& target, std::size_t width,
                            std::size_t rows);

}  // namespace memscope::view
