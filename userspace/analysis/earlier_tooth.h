#pragma once
#include <span>

#include "analysis/rise.h"
#include "model/series.h"

namespace memscope {

// A rise like one that was given back before: a long tooth whose end is not here yet. Nothing of this rise may have
// been given back, it goes no higher than such a tooth could, and it was not steeper or flatter than that one.
bool is_like_an_earlier_tooth(std::span<const Bin> bins, const Rise& rise, double budget);

}  // namespace memscope
