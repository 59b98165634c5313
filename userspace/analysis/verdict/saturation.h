#pragma once
#include <optional>

#include "analysis/verdict/floor.h"

namespace memscope {

// Growth that slows down, fitted to the floor from some point on: A - B exp(-t / tau) + c t.
struct Saturation {
    double from = 0;     // seconds since the first sample
    double tau = 0;      // seconds
    double grown = 0;    // B: the total growth of the part that slows down, in bytes
    double to_come = 0;  // the part of B that is not reached yet, in bytes
    double lasting = 0;  // c: bytes per second that do not slow down
    bool lasts = false;  // the samples cannot be described without c
    double squares = 0;  // sum of the squared distances of the points to the curve

    double growth(double begin, double end) const;  // bytes between two times
};

// `nullopt` if a straight line fits as well, if the curve does not fit, or if there are too few points.
std::optional<Saturation> find_saturation(const Floor& floor, std::size_t from);

// For growth that slows down in another way (a root, a logarithm), so that each third of the time brings less growth
// than the third before. Returns the bytes still to come if each further third decreases by the same factor, or
// `nullopt` if growth does not slow down.
std::optional<double> slowing_by_thirds(const Floor& floor, std::size_t from);

}  // namespace memscope
