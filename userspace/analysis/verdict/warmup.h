#pragma once
#include <optional>
#include <vector>

#include "analysis/verdict/floor.h"

namespace memscope {

// Growth since the start.
struct Warmup {
    bool grew = false;              // materially, inside the budget
    std::optional<double> ended{};  // where its plateau begins, if there is one
    std::size_t plateau = 0;        // the point of the floor there, or 0
    double start_level = 0;
};

// `pause`: how long the floor must be flat to count as a plateau, besides what the budget asks for. `blur`: bytes by
// which the floor may be off.
Warmup find_warmup(const Floor& floor, const std::vector<Segment>& segments, double budget, double pause, double blur);

}  // namespace memscope
