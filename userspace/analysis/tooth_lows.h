#pragma once
#include <optional>
#include <span>
#include <vector>

#include "analysis/floor.h"
#include "analysis/spikes.h"

namespace memscope {

// The floor as the lows of teeth (or between spikes), one low per tooth, means of neighbours. The minimum of a stretch
// of time depends on its luckiest sample; a mean of lows does not, so that a slow rise below large teeth is visible.
struct ToothLows {
    Floor floor{};
    double blur = 0;                  // Spikes::blur; 0 where the bottoms of teeth are flat
    std::vector<double> passed_at{};  // when the phase of the samples had drifted by a whole interval

    // How much the lows of a flat sawtooth can rise since then because the phase of the samples drifts, in bytes: if
    // the sampling interval divides the period almost exactly, each low is sampled a little later in its tooth. Such a
    // rise ends when a whole interval is passed, so that of N such rises one Nth is left over the whole time.
    double drift_since(double time) const;
};

// Lows since `since` (seconds since the first sample), averaged until there are at most `most_points`. `noise`: of
// single samples. Nothing if there are too few teeth.
std::optional<ToothLows> find_tooth_lows(std::span<const Bin> bins, const Spikes& spikes, double noise, double since,
                                         std::size_t most_points);

}  // namespace memscope
