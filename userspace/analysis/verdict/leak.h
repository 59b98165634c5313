#pragma once
#include <optional>
#include <span>
#include <vector>

#include "analysis/verdict/floor.h"
#include "analysis/verdict/rise.h"
#include "analysis/verdict/spikes.h"
#include "analysis/verdict/teeth.h"
#include "analysis/verdict/verdict.h"
#include "analysis/verdict/warmup.h"
#include "model/series.h"

namespace memscope {

// Whether the rise resembles an earlier rise that was freed again, so that it may be a long tooth that has not ended
// yet. True only if no part of this rise was freed, and if its height, length and slope are similar to those of that
// tooth.
bool is_like_an_earlier_tooth(std::span<const Bin> bins, const Rise& rise, double budget);

// The input of find_leak(): everything that was measured on the judged part of a series.
struct Findings {
    std::span<const Bin> bins{};
    double noise = 0;  // of single samples
    Floor floor{};
    std::vector<Segment> segments{};
    std::optional<Spikes> spikes{};
    Warmup warmup{};
    std::vector<ToothBottom> bottoms{};                   // of teeth, if the floor goes through them; else empty
    double budget = 0;                                    // seconds
    double start() const { return bins.front().low_at; }  // the first point of the floor may be later
    double elapsed() const { return floor.length(); }
    double now() const { return bins.back().low_at; }  // the last point of the floor may be older
};

// A rise that lasts until the end of the series and that is neither noise nor random drift.
struct Leak {
    Rise rise{};
    Doubt doubt = Doubt::none;
    double to_come = 0;  // Doubt::decelerating: the bytes by which it will still grow
};
std::optional<Leak> find_leak(const Findings& findings, const Evidence& evidence);

}  // namespace memscope
