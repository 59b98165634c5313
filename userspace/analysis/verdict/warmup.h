#pragma once
#include <optional>
#include <vector>

#include "analysis/verdict/floor.h"

namespace memscope {

// Growth since the start.
struct Warmup {
    bool grew = false;              // materially, inside the budget
    std::optional<double> ended{};  // when its plateau begins, if there is one
    std::size_t plateau = 0;        // the point of the floor at which the plateau begins, or 0
    double start_level = 0;
};

// `pause`: seconds for which the floor must be flat to count as a plateau, if this is more than the minimum that
// follows from the budget. `blur`: uncertainty of the floor in bytes.
Warmup find_warmup(const Floor& floor, const std::vector<Segment>& segments, double budget, double pause, double blur);

}  // namespace memscope
