#pragma once
#include <cstddef>
#include <optional>
#include <span>

#include "analysis/verdict/floor.h"
#include "model/series.h"

namespace memscope {

// The number of bins at the end that belong to an excursion that may not be over: they follow a jump, and an earlier
// jump of similar height was freed again after at least as long a time. These bins do not show a new floor yet.
std::size_t open_excursion(std::span<const Bin> bins);

// The number of bins after a gap if they are too few to show the floor: the lowest of a few samples is above the floor,
// so a line across the gap seems to rise. If spikes recur (every `period` seconds, 0: none), the series reaches its
// floor only once a period.
std::size_t too_few_since_gap(std::span<const Bin> bins, double period = 0);

// Recurring excursions above the floor.
struct Spikes {
    int count = 0;
    double height = 0;  // above the floor, bytes: the median of the latest ones
    double period = 0;  // seconds
    double last_at = 0;
    double top = 0;     // the highest level that the latest ones reached, in bytes ...
    double top_at = 0;  // ... and when
    // Uncertainty of the floor in bytes. A sawtooth has no floor between its teeth, so its lowest sample varies by
    // about this much if samples are rare. 0: the floor is visible between the spikes.
    double blur = 0;
};

// `noise`: of single samples.
std::optional<Spikes> find_spikes(std::span<const Bin> bins, const Floor& floor, double noise);

}  // namespace memscope
