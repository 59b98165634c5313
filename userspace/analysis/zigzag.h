#pragma once
#include <span>
#include <vector>

#include "model/series.h"

namespace memscope {

struct Turn {
    double at = 0;
    double bytes = 0;
};

// Where a series turns, if moves smaller than `least` do not count.
struct Turns {
    std::vector<Turn> lows{};
    std::vector<Turn> highs{};
};
Turns find_turns(std::span<const Bin> bins, double least);

}  // namespace memscope
