#pragma once
#include <vector>

#include "model/growth.h"
#include "view/line.h"
#include "view/state.h"

namespace memscope::view {

// The largest call sites of each role, in one plane. Each line may be too long; the screen cuts it. Null: nobody
// follows growth.
std::vector<Line> growth_panel(const Growth* growth, GrowthPanel plane, std::size_t width);

}  // namespace memscope::view
