#pragma once
#include <optional>
#include <span>
#include <vector>

#include "analysis/verdict/floor.h"
#include "model/series.h"

namespace memscope {

// The bounds of the floor at one tooth of a sawtooth. The fall before the tooth happened at an unknown time between two
// samples. The line through the tooth, extended back to both, gives two bounds for the memory that was left after the
// fall.
struct ToothBottom {
    double at = 0;  // the middle between the two samples
    double least = 0;
    double most = 0;
    double spread = 0;  // standard deviation of the samples of the tooth around its line, in bytes ...
    double error = 0;   // ... and of both bounds

    double middle() const { return 0.5 * (least + most); }
    double uncertainty() const;  // standard deviation of the middle, in bytes
};

// `height`: of a usual tooth. `noise`: of single samples. A tooth with fewer than three samples is left out.
std::vector<ToothBottom> find_tooth_bottoms(std::span<const Bin> bins, double height, double noise);

// The floor through the middles. Leaves out the bottoms that are known much less exactly than the others, which follow
// gaps in the samples. `nullopt` if there are too few teeth.
std::optional<Floor> floor_of_bottoms(std::span<const ToothBottom> bottoms, double noise, double level);

// The least slope of a straight floor that agrees with the bounds of all teeth, in bytes per second. A flat sawtooth
// whose sampling phase drifts seems to rise, but a flat floor agrees with its bounds. `nullopt` if no straight floor
// agrees.
std::optional<double> least_slope(std::span<const ToothBottom> bottoms);

// The least number of jumps with which a floor that is flat between them agrees with the bounds of all teeth.
std::size_t fewest_jumps(std::span<const ToothBottom> bottoms);

// Whether a floor that is straight until `time` and flat from then on agrees with the bounds of all teeth.
bool may_be_flat_since(std::span<const ToothBottom> bottoms, double time);

}  // namespace memscope
