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

// Upward jumps of the floor from a point on. Jumps at adjacent points are joined to one step.
std::vector<Step> find_steps(const Floor& floor, std::size_t from);

// At least three steps of similar height at similar distances, the last of them recent.
struct Staircase {
    int count = 0;
    double height = 0;
    double period = 0;
    double first_at = 0;
    double last_at = 0;
    double slope() const { return height / period; }
};
std::optional<Staircase> find_staircase(const Floor& floor, std::size_t from, const std::vector<Step>& steps);

// The staircase with the times of its first and last step taken from the samples, because the points of the floor may
// be a minute apart.
Staircase sharpened(Staircase stairs, const Floor& floor, std::span<const Bin> bins);

// A rise of the floor from some point to its end.
struct Rise {
    std::size_t from = 0;
    double began = 0;  // seconds since the first sample
    double length = 0;
    double slope = 0;        // bytes per second
    double slope_error = 0;  // its standard error
    double bytes = 0;        // the growth from the beginning to the end
    double strength = 0;     // the slope in standard errors, corrected for autocorrelation
    double scatter = 0;      // standard deviation around the line, as a part of the rise
    double inertia = 0;      // autocorrelation of adjacent points: 0 for noise, near 1 for random drift
    std::optional<Staircase> stairs{};
};

// The conditions that a rise must meet.
struct Bar {
    double level = 0;        // bytes: kMaterial is relative to this
    double shortest = 0;     // seconds
    double budget_ends = 0;  // seconds since the first sample: a rise has to continue after it ...
    double least_after = 0;  // ... for at least this many seconds
    double factor = 1;       // Evidence::bar
    bool vague = false;      // the values of the points are uncertain, so more scatter is allowed
    bool teeth = false;      // the points are the lowest samples of teeth, which vary
};

std::optional<Rise> find_rise(const Floor& floor, std::size_t from, const Bar& bar);

// Whether one or two jumps between flat stretches describe the floor better than a straight line does.
bool jumps_fit_better(const Floor& floor);

// The least rise that can be a leak, as a part of the level.
inline constexpr double kMaterial = 0.01;

}  // namespace memscope
