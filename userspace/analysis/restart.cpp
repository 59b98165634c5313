#include "analysis/restart.h"

#include <algorithm>
#include <vector>

#include "analysis/statistics.h"

namespace memscope {
namespace {

constexpr double kFar = 0.75;  // of what was held before

struct Collapse {
    std::size_t bin = 0;  // the lowest after it
    double at = 0;
    double from = 0;
    double to = 0;
};

double lowest(std::span<const Bin> bins) {
    double low = bins.front().low;
    for (const Bin& bin : bins) low = std::min(low, bin.low);
    return low;
}

// What falls back to a level that it left a short while ago was a spike.
bool was_a_spike(std::span<const Bin> bins, double level, double slack) {
    const double near = 1.15 * level + slack;
    const auto last = std::find_if(bins.rbegin(), bins.rend(), [&](const Bin& bin) { return bin.low < near; });
    if (last == bins.rend()) return false;
    return bins.back().low_at - last->low_at < 0.25 * (bins.back().low_at - bins.front().low_at);
}

// A process that ends may take a few samples for it, so what was held before is sought a moment earlier.
std::vector<Collapse> find_collapses(std::span<const Bin> bins, double level, double warmup) {
    std::vector<Collapse> found;
    const double length = bins.back().low_at - bins.front().low_at;
    const double look = std::max(0.04 * length, 0.08 * warmup);
    const double moment = std::min(0.25 * look, 0.025 * warmup);
    const double slack = 0.003 * level;
    std::size_t base = 0;
    std::size_t held_from = 0;
    std::size_t held_to = 0;
    for (std::size_t i = 2; i + 2 < bins.size(); ++i) {
        const double at = bins[i].low_at;
        while (held_to + 1 < i && bins[held_to + 1].low_at <= at - moment) ++held_to;
        const std::size_t last = std::max(held_to, base);
        if (bins[i].low >= kFar * bins[last].low && bins[i].low >= kFar * bins[i - 1].low) continue;
        while (bins[held_from].low_at < at - look) ++held_from;
        const std::size_t first = std::max(base, std::min({held_from, last, std::max<std::size_t>(i, 3) - 3}));
        if (first > last || i - base < 5 || at - bins[base].low_at < 0.15 * warmup) continue;
        const double before = lowest(bins.subspan(first, last - first + 1));
        const double after = lowest(bins.subspan(i, 3));
        if (after >= kFar * before || bins[i + 1].low >= 0.8 * before) continue;
        if (was_a_spike(bins.subspan(base, i - base), after, slack)) continue;
        std::size_t bottom = i;
        while (bottom + 1 < bins.size() && bins[bottom + 1].low < bins[bottom].low &&
               bins[bottom + 1].low_at - at < 0.3 * look)
            ++bottom;
        found.push_back({bottom, bins[bottom].low_at, before, bins[bottom].low});
        base = bottom;
        i = bottom + 2;
    }
    return found;
}

bool are_teeth(const std::vector<Collapse>& collapses) {
    if (collapses.size() < 3) return false;
    double lowest_to = collapses[0].to;
    double highest_to = collapses[0].to;
    double lowest_from = collapses[0].from;
    double shortest = collapses[1].at - collapses[0].at;
    double longest = shortest;
    for (std::size_t i = 1; i < collapses.size(); ++i) {
        lowest_to = std::min(lowest_to, collapses[i].to);
        highest_to = std::max(highest_to, collapses[i].to);
        lowest_from = std::min(lowest_from, collapses[i].from);
        shortest = std::min(shortest, collapses[i].at - collapses[i - 1].at);
        longest = std::max(longest, collapses[i].at - collapses[i - 1].at);
    }
    const bool alike = highest_to - lowest_to < 0.35 * (lowest_from - lowest_to) || collapses.size() >= 4;
    return alike && longest < 2.5 * shortest;
}

}  // namespace

std::optional<std::size_t> find_restart(std::span<const Bin> bins, Seconds warmup) {
    if (bins.size() < 6) return std::nullopt;
    std::vector<double> lows;
    for (const Bin& bin : bins) lows.push_back(bin.low);
    auto collapses = find_collapses(bins, median_value(std::move(lows)), warmup.count());
    if (collapses.empty()) return std::nullopt;
    const Collapse last = collapses.back();
    if (are_teeth(collapses)) return std::nullopt;
    // After many teeth, one that goes much deeper is an end and not a tooth.
    collapses.pop_back();
    double deepest = last.to;
    if (are_teeth(collapses)) {
        deepest = collapses.front().to;
        for (const Collapse& tooth : collapses) deepest = std::min(deepest, tooth.to);
        if (last.to > 0.7 * deepest) return std::nullopt;
    }
    return last.bin;
}

std::size_t unsettled_end(std::span<const Bin> bins) {
    constexpr std::size_t kTooFew = 2;
    for (std::size_t n = kTooFew; n > 0; --n) {
        const std::size_t lately = bins.size() / 4;  // so much that the low of a tooth is among them
        if (lately < 5) return 0;
        const double held = lowest(bins.subspan(bins.size() - n - lately, lately));
        const auto end = bins.last(n);
        if (std::ranges::all_of(end, [&](const Bin& bin) { return bin.low < kFar * held; })) return n;
    }
    return 0;
}

}  // namespace memscope
