#pragma once
#include <optional>
#include <span>
#include <vector>

#include "analysis/verdict/floor.h"
#include "analysis/verdict/rise.h"
#include "analysis/verdict/spikes.h"
#include "analysis/verdict/verdict.h"
#include "analysis/verdict/warmup.h"
#include "model/series.h"

namespace memscope {

// A rise like one that was given back before: a long tooth whose end is not here yet. Nothing of this rise may have
// been given back, it goes no higher than such a tooth could, and it was not steeper or flatter than that one.
bool is_like_an_earlier_tooth(std::span<const Bin> bins, const Rise& rise, double budget);

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
