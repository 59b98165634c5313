#include "analysis/verdict/restart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "analysis/verdict/floor.h"
#include "analysis/verdict/statistics.h"

namespace memscope {
namespace {

constexpr double kFar = 0.75;  // of the level before the fall

struct Collapse {
    std::size_t top = 0;  // the first bin of the fall
    std::size_t bin = 0;  // the lowest bin after the fall
    double at = 0;
    double from = 0;
    double to = 0;
};

double lowest(std::span<const Bin> bins) {
    double low = bins.front().low;
    for (const Bin& bin : bins) low = std::min(low, bin.low);
    return low;
}

// Whether the fall was the end of a spike: the series returns to a level that it left a short time before.
bool was_a_spike(std::span<const Bin> bins, double level, double slack) {
    const double near = 1.15 * level + slack;
    const auto last = std::find_if(bins.rbegin(), bins.rend(), [&](const Bin& bin) { return bin.low < near; });
    if (last == bins.rend()) return false;
    if (last == bins.rbegin()) return true;
    const double whole = bins.back().low_at - bins.front().low_at;
    const double lasted = bins.back().low_at - last->low_at;
    // A longer spike also begins with a jump of about the height of the fall. A job that is started again grows slowly.
    const double jump = last.base()->low - last->low;
    return lasted < 0.25 * whole || (lasted < 0.5 * whole && jump > 0.6 * (bins.back().low - level));
}

// The end of a process can extend over a few samples, so the level before a fall is measured `moment` seconds earlier.
std::vector<Collapse> find_collapses(std::span<const Bin> bins, double level, double warmup) {
    std::vector<Collapse> found;
    const double length = bins.back().low_at - bins.front().low_at;
    const double window = std::max(0.04 * length, 0.08 * warmup);
    const double moment = std::min(0.25 * window, 0.025 * warmup);
    const double slack = 0.003 * level;
    std::size_t base = 0;
    std::size_t held_from = 0;
    std::size_t held_to = 0;
    for (std::size_t i = 2; i + 2 < bins.size(); ++i) {
        const double at = bins[i].low_at;
        while (held_to + 1 < i && bins[held_to + 1].low_at <= at - moment) ++held_to;
        const std::size_t last = std::max(held_to, base);
        if (bins[i].low >= kFar * bins[last].low && bins[i].low >= kFar * bins[i - 1].low) continue;
        while (bins[held_from].low_at < at - window) ++held_from;
        const std::size_t first = std::max(base, std::min({held_from, last, std::max<std::size_t>(i, 3) - 3}));
        if (first > last || i - base < 5 || at - bins[base].low_at < 0.15 * warmup) continue;
        const double before = lowest(bins.subspan(first, last - first + 1));
        const double after = lowest(bins.subspan(i, 3));
        if (after >= kFar * before || bins[i + 1].low >= 0.8 * before) continue;
        if (was_a_spike(bins.subspan(base, i - base), after, slack)) continue;
        std::size_t bottom = i;
        while (bottom + 1 < bins.size() && bins[bottom + 1].low < bins[bottom].low &&
               bins[bottom + 1].low_at - at < 0.3 * window)
            ++bottom;
        found.push_back({last, bottom, bins[bottom].low_at, before, bins[bottom].low});
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

constexpr double kDeep = 0.5;            // of the level before, and of the level from which growth resumes
constexpr double kSteeper = 2.5;         // times: loading is at least this much faster than the growth after it
constexpr double kLongestLoad = 0.35;    // of the run: time below the level from which growth resumes
constexpr double kOnTheGround = 1.15;    // of the lowest bin: below it, the job has not begun to load yet
constexpr double kSameLevel = 0.03;      // of the level: a dip that returns to within this distance is no restart
constexpr double kYoung = 0.1;           // of the time before the run
constexpr std::size_t kBefore = 8;       // bins from which the level before a fall is measured
constexpr std::size_t kFewestAfter = 3;  // bins after the loading that are needed to measure further growth

struct Fall {
    std::size_t at = 0;      // the first low bin
    std::size_t bottom = 0;  // the last bin before the series rises again
    double before = 0;       // the level before the fall
};

double median_low(std::span<const Bin> bins) {
    std::vector<double> lows;
    lows.reserve(bins.size());
    for (const Bin& bin : bins) lows.push_back(bin.low);
    return median_value(std::move(lows));
}

// The deep falls. A fall ends at the last bin that is near its lowest bin.
std::vector<Fall> find_deep_falls(std::span<const Bin> bins) {
    std::vector<Fall> falls;
    std::size_t since = 0;  // the bin at which the present run began
    for (std::size_t i = 1; i < bins.size(); ++i) {
        if (bins[i].low >= kDeep * bins[i - 1].high) continue;
        const std::size_t first = std::max(since, i - std::min(i, kBefore));
        if (first == i) continue;
        const double before = median_low(bins.subspan(first, i - first));
        if (bins[i].low >= kDeep * before) continue;
        std::size_t bottom = i;
        double lowest = bins[i].low;
        for (std::size_t k = i + 1; k < bins.size(); ++k) {
            if (bins[k].low > lowest / kDeep && bins[k].low > kDeep * kDeep * before) break;
            lowest = std::min(lowest, bins[k].low);
            if (bins[k].low <= kOnTheGround * lowest) bottom = k;
        }
        falls.push_back({i, bottom, before});
        since = bottom + 1;
        i = bottom;
    }
    return falls;
}

// Whether a run that begins at a bottom soon rises fast to more than twice the bottom, and then slowly or not at all.
// `run` begins with the bottom, `fell` is the time at which the fall began. If the series stays low for most of the
// run, the fall was the end of a spike.
bool undershoots(std::span<const Bin> run, double fell) {
    if (run.size() < kFewestAfter + 2) return false;
    const double began = run.front().low_at;
    const double soon = fell + kLongestLoad * (run.back().low_at - fell);
    const std::size_t last = std::max<std::size_t>(run.size() / 5, kFewestAfter);
    const auto end = run.last(last);
    const double end_level = median_low(end);
    const double end_at = 0.5 * (end.front().low_at + end.back().low_at);
    std::vector<double> floor(run.size());  // the minimum from each bin to the end, so that spikes do not count
    floor.back() = run.back().low;
    for (std::size_t i = run.size() - 1; i > 0; --i) floor[i - 1] = std::min(floor[i], run[i - 1].low);
    for (std::size_t i = 1; i + kFewestAfter < run.size() && run[i].low_at <= soon; ++i) {
        const double loaded = floor[i];
        if (kDeep * loaded <= run.front().low || run[i].low_at >= end_at) continue;
        const double loading = (loaded - run.front().low) / (run[i].low_at - began);
        const double after = (end_level - loaded) / (end_at - run[i].low_at);
        if (loading > kSteeper * std::max(after, 0.0)) return true;
    }
    return false;
}

// Whether the series returned to the level before the fall within two bins.
bool is_dip(std::span<const Bin> bins, const Fall& fall) {
    constexpr std::size_t kMoment = 2;
    if (fall.bottom - fall.at >= kMoment || fall.bottom + kFewestAfter >= bins.size()) return false;
    const double after = median_low(bins.subspan(fall.bottom + 1, kFewestAfter));
    return std::abs(after - fall.before) < kSameLevel * fall.before;
}

// The lowest bin near `time`, if it is far below the level before. `time`: when the trainer was replaced.
std::optional<std::size_t> fall_at(std::span<const Bin> bins, double time, double until) {
    const auto first = std::ranges::lower_bound(bins, time, {}, &Bin::low_at);
    const auto at = static_cast<std::size_t>(first - bins.begin());
    if (at == 0 || first == bins.end()) return std::nullopt;
    // The old process ends some time before the new one is seen, so the fall may be in the bins before `time`.
    const std::size_t from = at - std::min(at, kBefore);
    const std::size_t earlier = from - std::min(from, kBefore);
    if (earlier == from) return std::nullopt;
    const double before = median_low(bins.subspan(earlier, from - earlier));
    std::size_t bottom = from;
    for (std::size_t i = from; i < std::min(bins.size(), at + kBefore) && bins[i].low_at < until; ++i)
        if (bins[i].low <= bins[bottom].low) bottom = i;
    return bins[bottom].low < kFar * before ? std::optional(bottom) : std::nullopt;
}

}  // namespace

std::vector<std::size_t> find_restarts(std::vector<Bin>& bins, const std::optional<std::vector<double>>& replaced) {
    std::vector<std::size_t> restarts;
    if (replaced) {
        for (std::size_t i = 0; i < replaced->size(); ++i) {
            const bool last = i + 1 == replaced->size();
            const double until = last ? std::numeric_limits<double>::infinity() : (*replaced)[i + 1];
            const auto bottom = fall_at(bins, (*replaced)[i], until);
            if (bottom && (restarts.empty() || *bottom > restarts.back())) restarts.push_back(*bottom);
        }
        return restarts;
    }
    auto falls = find_deep_falls(bins);
    for (auto fall = falls.rbegin(); fall != falls.rend(); ++fall)
        if (is_dip(bins, *fall)) {
            const std::size_t removed = fall->bottom - fall->at + 1;
            bins.erase(bins.begin() + static_cast<std::ptrdiff_t>(fall->at),
                       bins.begin() + static_cast<std::ptrdiff_t>(fall->bottom + 1));
            for (auto later = falls.rbegin(); later != fall; ++later) {
                later->at -= removed;
                later->bottom -= removed;
            }
            fall->before = 0;
        }
    std::erase_if(falls, [](const Fall& fall) { return fall.before == 0; });
    const double usual = median_low(bins);
    double ground = 0;  // the highest bottom of a restart so far
    for (std::size_t i = 0; i < falls.size(); ++i) {
        const bool last = i + 1 == falls.size();
        const std::size_t bottom = falls[i].bottom;
        const std::size_t end = last ? bins.size() : falls[i + 1].at;
        const auto run = std::span(bins).subspan(bottom, end - bottom);
        if (bins[bottom].low >= kDeep * usual) continue;  // the end of a spike
        // The present run may be too short to show the rise after an undershoot. It counts as a restart if its bottom
        // is similar to those of the earlier restarts.
        const bool young = last && !restarts.empty() && bins[bottom].low <= 2 * ground &&
                           run.back().low_at - run.front().low_at < kYoung * run.front().low_at;
        if (!undershoots(run, bins[falls[i].at].low_at) && !young) continue;
        restarts.push_back(bottom);
        ground = std::max(ground, bins[bottom].low);
    }
    return restarts;
}

namespace {

LineFits fits_of(std::span<const Bin> bins) {
    std::vector<double> at;
    std::vector<double> lows;
    for (const Bin& bin : bins) {
        at.push_back(bin.low_at);
        lows.push_back(bin.low);
    }
    return {at, lows};
}

double slope_of(std::span<const Bin> bins) { return fits_of(bins).line(0, bins.size()).slope; }

bool are_alike(double one, double other) {
    constexpr double kAlike = 2.5;  // times
    return one > 0 && other > 0 && one < kAlike * other && other < kAlike * one;
}

// Whether a run loads first: it rises fast to a level from which it then grows slowly. The line through its second
// half, extended back to its start, shows that level. A tooth grows at the same rate from its start on.
bool loads_first(std::span<const Bin> run) {
    constexpr double kLoaded = 0.2;  // of the growth of the run
    constexpr double kSoon = 0.1;    // of its length
    const double start = run.front().low;
    const double began = run.front().low_at;
    const double ended = run.back().low_at;
    const Line later = fits_of(run).line(run.size() / 2, run.size());
    const double level = later.value(began);
    if (level - start < kLoaded * (later.value(ended) - start)) return false;
    const auto loaded = std::ranges::find_if(run, [&](const Bin& bin) { return bin.low >= level; });
    return loaded != run.end() && loaded->low_at - began < kSoon * (ended - began);
}

constexpr double kAsHigh = 0.5;  // of a fall: a fall that is at least this high ends a tooth of the same sawtooth

constexpr std::size_t kFewestOfRamp = 6;  // bins

// Whether a gap in the samples hides a fall: after it, the series is lower than a ramp with this slope would be.
bool hides_fall(const Bin& before, const Bin& after, double slope, double height) {
    return before.low + slope * (after.low_at - before.low_at) - after.low > kAsHigh * height;
}

// The run after a fall, until the next fall of similar height. That fall may be too small for a collapse. Several teeth
// together have another slope than each of them, and look as if the run loaded first. `slope`: of the tooth before.
std::span<const Bin> until_next_fall(std::span<const Bin> after, double height, double slope) {
    double top = after.front().low;  // not its high, because the first bin may contain the fall before this run
    for (std::size_t i = 1; i < after.size(); ++i) {
        const bool falls = top - after[i].low > kAsHigh * height;
        if (falls || hides_fall(after[i - 1], after[i], slope, height)) return after.first(i);
        top = std::max(top, after[i].high);
    }
    return after;
}

struct Ramp {
    std::span<const Bin> bins{};
    bool from_bottom = false;  // otherwise its samples may begin in the middle of a tooth
};

// The ramp before a fall, since the last fall of similar height. That fall may be too small for a collapse, or so early
// in the series that it does not count as one. `follows_fall`: `before` begins with a fall.
Ramp since_last_fall(std::span<const Bin> before, double height, bool follows_fall) {
    const auto lows = find_turns(before, kAsHigh * height).lows;
    if (!lows.empty()) {
        const auto bottom = std::ranges::lower_bound(before, lows.back().at, {}, &Bin::low_at);
        const auto earlier = before.first(static_cast<std::size_t>(bottom - before.begin()));
        follows_fall = follows_fall || std::ranges::any_of(earlier, [&](const Bin& bin) {
                           return bin.low - lows.back().bytes > kAsHigh * height;
                       });
        before = before.subspan(earlier.size());
    }
    const LineFits fits = fits_of(before);
    for (std::size_t i = before.size(); i-- > 1;) {
        if (before.size() - i < kFewestOfRamp) continue;
        const double slope = fits.line(i, before.size()).slope;
        if (hides_fall(before[i - 1], before[i], slope, height)) return {before.subspan(i), false};
    }
    return {before, follows_fall};
}

double highest(std::span<const Bin> bins) { return std::ranges::max(bins, {}, &Bin::high).high; }

// Whether the fall ends a tooth of a sawtooth: the series returns to the level at which the ramp before it began, and
// the next ramp rises at a similar rate. `after` begins with the fall.
bool is_tooth(std::span<const Bin> bins, const Ramp& ramp, const Collapse& fall, std::span<const Bin> after) {
    constexpr double kBackToStart = 0.25;  // of the fall
    constexpr double kLonger = 1.2;        // times the length of this tooth: the longest that the next one may take
    const auto before = ramp.bins;
    const double height = fall.from - fall.to;
    if (before.size() < kFewestOfRamp || after.size() < kFewestOfRamp) return false;
    const double start = lowest(before.first(std::max<std::size_t>(2, before.size() / 12)));
    const double lower = start - fall.to;
    if (std::abs(lower) > kBackToStart * height && (ramp.from_bottom || lower < 0)) return false;
    const auto middle = before.size() / 2;
    if (!are_alike(slope_of(before.first(middle)), slope_of(before.subspan(middle)))) return false;
    const double slope = slope_of(before);
    if (!are_alike(slope, slope_of(after)) || loads_first(after)) return false;
    // A tooth may be longer than the one before, as long as it is not higher than all earlier ones.
    const double length = before.back().low_at - before.front().low_at;
    const double whole = ramp.from_bottom ? length : std::max(length, height / slope);
    const double lasted = after.back().low_at - after.front().low_at;
    return lasted <= kLonger * whole || highest(after.subspan(1)) <= highest(bins.first(fall.top + 1));
}

// Whether the series landed at a level at which it had landed several times before, as a sawtooth does. The earlier
// falls may have been too small for a collapse, and a gap in the samples may hide some of them.
bool lands_as_before(std::span<const Bin> bins, const Collapse& fall, std::span<const Bin> after) {
    constexpr std::ptrdiff_t kSeveral = 3;
    constexpr double kSamePlace = 0.1;  // of this fall
    const double height = fall.from - fall.to;
    const auto lows = find_turns(bins.first(fall.top + 1), kAsHigh * height).lows;
    const auto alike = std::ranges::count_if(
        lows, [&](const Turn& low) { return std::abs(low.bytes - fall.to) < kSamePlace * height; });
    return alike >= kSeveral && (after.size() < kFewestOfRamp || !loads_first(after));
}

}  // namespace

std::optional<std::size_t> find_collapse(std::span<const Bin> bins, Seconds warmup) {
    if (bins.size() < 6) return std::nullopt;
    std::vector<double> lows;
    for (const Bin& bin : bins) lows.push_back(bin.low);
    auto collapses = find_collapses(bins, median_value(std::move(lows)), warmup.count());
    if (collapses.empty()) return std::nullopt;
    const Collapse last = collapses.back();
    if (are_teeth(collapses)) return std::nullopt;
    const double height = last.from - last.to;
    const std::size_t from = collapses.size() > 1 ? collapses[collapses.size() - 2].bin : 0;
    const Ramp ramp = since_last_fall(bins.subspan(from, last.top - from), height, from > 0);
    const double slope = ramp.bins.size() < kFewestOfRamp ? 0 : slope_of(ramp.bins);
    const auto after = until_next_fall(bins.subspan(last.bin), height, slope);
    if (lands_as_before(bins, last, after) || is_tooth(bins, ramp, last, after)) return std::nullopt;
    // A fall that is much deeper than those of many earlier teeth is the end of the job and not a tooth.
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
        const std::size_t lately = bins.size() / 4;  // long enough to contain the low of a tooth
        if (lately < 5) return 0;
        const double held = lowest(bins.subspan(bins.size() - n - lately, lately));
        const auto end = bins.last(n);
        if (std::ranges::all_of(end, [&](const Bin& bin) { return bin.low < kFar * held; })) return n;
    }
    return 0;
}

}  // namespace memscope
