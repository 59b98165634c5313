#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "base/units.h"
#include "model/series.h"

namespace memscope {

// The bin from which a series is to be judged: where its floor last fell far below what it held, and stayed there.
// Nothing if that never happened, or if it happens again and again: then it is a sawtooth.
std::optional<std::size_t> find_restart(std::span<const Bin> bins, Seconds warmup);

}  // namespace memscope
