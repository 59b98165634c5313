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

// How many bins at the end lie far below what was held lately, and are too few to tell if that stays: mostly a job that
// ends. They say nothing about what it did before.
std::size_t unsettled_end(std::span<const Bin> bins);

}  // namespace memscope
