#pragma once
#include <optional>

#include "analysis/verdict/floor.h"

namespace memscope {

// Growth that slows down: A - B exp(-t / tau) + c t, as far as the floor from some point on shows it.
struct Saturation {
    double from = 0;     // seconds since the first sample
    double tau = 0;      // seconds
    double grown = 0;    // B: what the part that slows down comes to
    double to_come = 0;  // what of B is still to come
    double lasting = 0;  // c: bytes per second that do not slow down
    bool lasts = false;  // c is needed to describe what was seen

    double growth(double begin, double end) const;  // bytes between two times
};

// Nothing if a straight line does as well, if the curve is no such one, or if there are too few points.
std::optional<Saturation> find_saturation(const Floor& floor, std::size_t from);

// Growth that slows down in another way (a root, a logarithm): each third of the time brings less than the one before.
// What is still to come if each further third brings as much less; nothing if it does not slow down.
std::optional<double> slowing_by_thirds(const Floor& floor, std::size_t from);

}  // namespace memscope
