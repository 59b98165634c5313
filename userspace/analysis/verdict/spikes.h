#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "analysis/verdict/floor.h"
#include "model/series.h"

namespace memscope {

// How many bins at the end belong to an excursion that may not be over: they stand on a jump like one that came back
// before, and for no longer than that one took. Whether they are the new floor, nobody can tell yet.
std::size_t open_excursion(std::span<const Bin> bins);

// How many bins at the end came after a gap and are still too few: the lowest of a handful of samples stands above the
// floor, and a line across the gap takes that for a rise. Where something recurs (`period` seconds; 0: nothing does)
// the floor is seen once a period.
std::size_t too_few_since_gap(std::span<const Bin> bins, double period = 0);

// Excursions that come again and again, and the floor between them.
struct Spikes {
    int count = 0;
    double height = 0;  // above the floor, bytes: the median of the latest ones
    double period = 0;  // seconds
    double last_at = 0;
    double top = 0;     // the highest that one of the latest ones reached, in bytes,
    double top_at = 0;  // and when
    // A sawtooth has no floor between its teeth: sampled now and then, its lowest sample wanders by about that much.
    double blur = 0;
};

// `noise`: of single samples.
std::optional<Spikes> find_spikes(std::span<const Bin> bins, const Floor& floor, double noise);

}  // namespace memscope
