#pragma once
#include <optional>
#include <span>
#include <vector>

#include "analysis/verdict/floor.h"

namespace memscope {

struct Step {
    double at = 0;
    double height = 0;  // bytes
};

// Upward jumps of the floor from a point on; neighbours are one.
std::vector<Step> find_steps(const Floor& floor, std::size_t from);

// Steps that are alike and come at alike distances, three at least, the last of them not long ago.
struct Staircase {
    int count = 0;
    double height = 0;
    double period = 0;
    double first_at = 0;
    double last_at = 0;
    double slope() const { return height / period; }
};
std::optional<Staircase> find_staircase(const Floor& floor, std::size_t from, const std::vector<Step>& steps);

// The same, with its first and last step where the samples have them: points of the floor may be a minute apart.
Staircase sharpened(Staircase stairs, const Floor& floor, std::span<const Bin> bins);

// The floor has been rising from some point to its end.
struct Rise {
    std::size_t from = 0;
    double began = 0;  // seconds since the first sample
    double length = 0;
    double slope = 0;        // bytes per second
    double slope_error = 0;  // its standard error
    double bytes = 0;        // from the beginning to the end
    double strength = 0;     // how many standard errors, neighbours that are alike counted as one
    double scatter = 0;      // spread around the line, as a part of the rise
    double inertia = 0;      // how alike neighbours are: 0 for noise, near 1 for wandering
    std::optional<Staircase> stairs{};
};

// What a rise must be to count.
struct Bar {
    double level = 0;        // bytes: what `material` is a part of
    double shortest = 0;     // seconds
    double budget_ends = 0;  // seconds since the first sample: a rise has to go on after it
    double least_after = 0;  // for so many seconds at least
    double factor = 1;       // Evidence::bar
};

std::optional<Rise> find_rise(const Floor& floor, std::size_t from, const Bar& bar);

// Rises of less are no leak, whatever their shape.
inline constexpr double kMaterial = 0.01;

}  // namespace memscope
