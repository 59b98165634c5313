#pragma once
#include <cstddef>
#include <span>

#include "model/series.h"

namespace memscope {

// How many bins at the end belong to an excursion that may not be over: they stand on a jump like one that came back
// before, and for no longer than that one took. Whether they are the new floor, nobody can tell yet.
std::size_t open_excursion(std::span<const Bin> bins);

}  // namespace memscope
