#pragma once
#include <cstddef>
#include <span>

#include "model/series.h"

namespace memscope {

// How many bins at the end came after a gap and are still too few: the lowest of a handful of samples stands above the
// floor, and a line across the gap takes that for a rise. Where something recurs (`period` seconds; 0: nothing does)
// the floor is seen once a period.
std::size_t too_few_since_gap(std::span<const Bin> bins, double period = 0);

}  // namespace memscope
