#pragma once
#include <optional>
#include <span>
#include <vector>

#include "analysis/floor.h"

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

}  // namespace memscope
