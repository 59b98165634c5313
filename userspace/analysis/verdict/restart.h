#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "model/series.h"

namespace memscope {

// The bins at which new runs of the job begin. `replaced`: the times at which the trainer was replaced in the process
// tree, in seconds since the first sample. `nullopt`: the process tree is not known (a recorded file), so restarts are
// detected on the curve.
//
// On the curve, a restart is an undershoot: memory falls below half of the level from which growth then resumes,
// because a new process starts small and loads its model again. If growth resumes from the bottom of the fall, it is a
// tooth of a sawtooth, at any depth. A time in `replaced` counts as a restart only if memory fell as well, because a
// trainer that is replaced while the memory stays has freed nothing.
//
// Removes from `bins` each short fall after which the series returns to its earlier level. Such a fall is a gap in the
// reading and not a restart.
std::vector<std::size_t> find_restarts(std::vector<Bin>& bins, const std::optional<std::vector<double>>& replaced);

// The bin from which the series has to be judged because its floor fell far, without an undershoot, and stayed low.
// `nullopt` if that never happened, or if it happens repeatedly, because then it is a sawtooth.
std::optional<std::size_t> find_collapse(std::span<const Bin> bins, Seconds warmup);

// The number of bins at the end that are far below the recent level but too few to show whether the level stays low.
// Usually the job is ending then, so these bins do not show how its memory behaved before.
std::size_t unsettled_end(std::span<const Bin> bins);

}  // namespace memscope
