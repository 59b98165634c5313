#pragma once
#include <optional>

#include "analysis/floor.h"

namespace memscope {

// Growth that slows down: A - B exp(-t / tau) + c t, as far as the floor from some point on shows it.
struct Saturation {
    double tau = 0;      // seconds
    double grown = 0;    // B: what the part that slows down comes to
    double to_come = 0;  // what of B is still to come
    double lasting = 0;  // c: bytes per second that do not slow down
    bool lasts = false;  // c is needed to describe what was seen
};

// Nothing if a straight line does as well, if the curve is no such one, or if there are too few points.
std::optional<Saturation> find_saturation(const Floor& floor, std::size_t from);

}  // namespace memscope
