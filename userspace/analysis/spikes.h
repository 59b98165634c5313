#pragma once
#include <optional>
#include <span>

#include "analysis/floor.h"
#include "model/series.h"

namespace memscope {

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
