#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "model/series.h"

namespace memscope {

// Where a new run of the job begins. `told`: the times at which the process tree says that the trainer was replaced, in
// seconds since the first sample; none: nobody knows the tree (a file), and the curve decides.
//
// On a curve a restart undershoots: memory falls below half of the level from which growth then resumes, because a new
// process starts small and loads its model again. A fall that goes on from where it landed is a tooth, however deep.
// Told restarts need a fall as well: a trainer that is replaced while the memory stays has not given anything back.
//
// Bins of a fall that came back to the level before it within a moment are removed from `bins`: a gap in the reading,
// not a restart.
std::vector<std::size_t> find_restarts(std::vector<Bin>& bins, const std::optional<std::vector<double>>& told);

// The bin from which a series is to be judged because its floor fell far below what it held, without an undershoot, and
// stayed there. Nothing if that never happened, or if it happens again and again: then it is a sawtooth.
std::optional<std::size_t> find_collapse(std::span<const Bin> bins, Seconds warmup);

// How many bins at the end lie far below what was held lately, and are too few to tell if that stays: mostly a job that
// ends. They say nothing about what it did before.
std::size_t unsettled_end(std::span<const Bin> bins);

}  // namespace memscope
