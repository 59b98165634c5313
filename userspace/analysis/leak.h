#pragma once
#include <optional>
#include <span>
#include <vector>

#include "analysis/floor.h"
#include "analysis/rise.h"
#include "analysis/segments.h"
#include "analysis/spikes.h"
#include "analysis/verdict.h"
#include "analysis/warmup.h"

namespace memscope {

// All that is known of the judged part of a series before it is asked whether it leaks.
struct Findings {
    std::span<const Bin> bins{};
    double noise = 0;  // of single samples
    Floor floor{};
    std::vector<Segment> segments{};
    std::optional<Spikes> spikes{};
    Warmup warmup{};
    double budget = 0;  // seconds
    double start() const { return floor.at.front(); }
    double elapsed() const { return floor.length(); }
    double now() const { return bins.back().low_at; }  // the floor's last point may be a while ago
};

// A rise that goes on to the end and that neither noise nor wandering explains.
struct Leak {
    Rise rise{};
    Doubt doubt = Doubt::none;
    double to_come = 0;  // if it decelerates: the bytes that are still to come
};
std::optional<Leak> find_leak(const Findings& findings, const Evidence& evidence);

}  // namespace memscope
