#include "analysis/verdict/leak.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/verdict/floor.h"
#include "analysis/verdict/saturation.h"

namespace memscope {
namespace {

constexpr double kAlike = 0.6;        // of the rise: a fall of this size counts as given back
constexpr double kHigher = 0.5;       // of the fall: the rise may exceed the top of the tooth by this much
constexpr double kLonger = 1.5;       // times the tooth or the budget: the longest rise that may be a tooth
constexpr double kSteeper = 2;        // times steeper or flatter than the tooth
constexpr double kUncertain = 0.1;    // of the rise: uncertainty of its start
constexpr double kMeasurable = 0.25;  // of the rise: the slope of a shorter tooth cannot be compared

struct Tooth {
    Turn bottom{};  // or where the series began
    Turn top{};
    Turn after{};
};

// The top of a tooth. Turns do not have it if the series begins with a fall.
Turn highest_between(std::span<const Bin> bins, double from, double to) {
    Turn top{from, 0};
    for (const Bin& bin : bins)
        if (bin.high_at >= from && bin.high_at <= to && bin.high > top.bytes) top = {bin.high_at, bin.high};
    return top;
}

bool is_alike(const Tooth& tooth, const Rise& rise, double level, double budget) {
    const double fall = tooth.top.bytes - tooth.after.bytes;
    const double length = tooth.top.at - tooth.bottom.at;
    if (fall < kAlike * rise.bytes || level > tooth.top.bytes + kHigher * fall) return false;
    if (rise.length > kLonger * std::max(length, budget)) return false;
    if (length < kMeasurable * rise.length) return true;
    const double slope = (tooth.top.bytes - tooth.bottom.bytes) / length;
    return slope > rise.slope / kSteeper && slope < rise.slope * kSteeper;
}

}  // namespace

bool is_like_an_earlier_tooth(std::span<const Bin> bins, const Rise& rise, double budget) {
    if (bins.empty() || rise.stairs) return false;
    const Turns turns = find_turns(bins, kAlike * rise.bytes);
    const double within = rise.began + kUncertain * rise.length;
    if (std::ranges::any_of(turns.highs, [&](const Turn& high) { return high.at > within; })) return false;
    Turn bottom{bins.front().low_at, bins.front().low};
    for (const Turn& low : turns.lows) {
        if (is_alike({bottom, highest_between(bins, bottom.at, low.at), low}, rise, bins.back().low, budget))
            return true;
        bottom = low;
    }
    return false;
}

namespace {

// Lengths of a rise, as parts of the warm-up budget.
constexpr double kShortest = 0.2;
constexpr double kShortestUnclear = 0.3;
constexpr double kAfterBudget = 0.2;

// The minimum of few samples is higher than the minimum of many, by some standard deviations of a sample. Therefore the
// floor seems to rise after a gap, or when samples become rare.
double of_few_samples(const Findings& findings) {
    return 4 * std::min(findings.noise, 3 * findings.floor.noise);  // with spikes, the noise of samples is uncertain
}

bool is_clear(const Rise& rise) { return rise.scatter < 0.05 && rise.strength > 10; }

std::set<std::size_t> candidates(const Floor& floor, const std::vector<Segment>& segments, std::size_t first) {
    std::set<std::size_t> from{first};
    for (const Segment& segment : segments)
        if (segment.from >= first) from.insert(segment.from);
    const std::size_t stride = std::max<std::size_t>(1, floor.size() / 40);
    for (std::size_t i = first; i + 4 < floor.size(); i += stride) from.insert(i);
    return from;
}

// The rise with the least scatter around its line. Prefers a staircase if one describes nearly the same rise.
template <class Accept>
std::optional<Rise> best_rise(const Floor& floor, const std::set<std::size_t>& from, const Bar& bar, double budget,
                              Accept accept) {
    std::optional<Rise> best;
    std::optional<Rise> stairs;
    const auto badness = [&](const Rise& rise) { return rise.scatter * (rise.length > 0.5 * budget ? 1.0 : 1.5); };
    for (const std::size_t i : from) {
        const auto rise = find_rise(floor, i, bar);
        if (!rise || (!rise->stairs && rise->length < kShortestUnclear * budget && !is_clear(*rise))) continue;
        if (!accept(*rise)) continue;
        if (!best || badness(*rise) < badness(*best)) best = rise;
        if (rise->stairs && (!stairs || rise->stairs->count > stairs->stairs->count)) stairs = rise;
    }
    if (stairs && !best->stairs && stairs->length > 0.7 * best->length && best->scatter > 0.5 * stairs->scatter)
        return stairs;
    return best;
}

// The 80 % quantile of the moves of the floor within `lag` seconds, before the rise began. Moves at the end of a
// warm-up are larger than usual, so only moves after the budget are used if there are enough of them.
double usual_move(const Findings& findings, const Rise& rise) {
    const Floor& floor = findings.floor;
    const double until = rise.began;
    const double lag = rise.length;
    const double budget_ends = findings.start() + findings.budget;
    const bool long_ago = until - budget_ends > lag;
    const std::size_t first =
        std::max(findings.warmup.plateau, long_ago ? floor.first_since(budget_ends) : findings.warmup.plateau);
    std::vector<double> moves;
    std::size_t k = first;
    for (std::size_t i = first; i < floor.size() && floor.at[i] <= until; ++i) {
        while (k < i && floor.at[k + 1] <= floor.at[i] - lag) ++k;
        if (k < i) moves.push_back(std::abs(floor.bytes[i] - floor.bytes[k]));
    }
    return quantile(std::move(moves), 0.8);
}

// Among many short windows one shows a rise by chance. The rise must be larger than the usual move in such a window.
bool stands_out(const Findings& findings, const Rise& rise) {
    if (rise.stairs || rise.length > 0.35 * findings.elapsed()) return true;
    const double usual = usual_move(findings, rise);
    return rise.bytes > std::max(1.5 * usual + 2 * findings.floor.noise, of_few_samples(findings));
}

double deepest_fall(std::span<const double> values) {
    double high = values.empty() ? 0 : values.front();
    double fall = 0;
    for (const double value : values) {
        high = std::max(high, value);
        fall = std::max(fall, high - value);
    }
    return fall;
}

// The deepest fall of the medians, because the floor hides falls of the other samples. One sharp fall is ignored.
double fall_of_middle(const Findings& findings) {
    constexpr double kBlocks = 40;
    const double from = std::max(findings.warmup.ended.value_or(0), findings.start());
    const double width = (findings.floor.end() - from) / kBlocks;
    std::vector<double> middles;
    std::vector<double> block;
    double cell = 0;
    for (const Bin& bin : findings.bins) {
        if (bin.low_at < from) continue;
        const double at = width > 0 ? std::floor((bin.low_at - from) / width) : 0;
        if (at != cell && !block.empty()) {
            middles.push_back(median_value(std::move(block)));
            block = {};
            cell = at;
        }
        block.push_back(bin.low);
    }
    if (block.size() > 2 || middles.empty()) middles.push_back(median_value(std::move(block)));
    const double all = deepest_fall(middles);
    double lift = 0;
    for (std::size_t i = 1; i < middles.size(); ++i) {
        const double fall = middles[i - 1] - (middles[i] + lift);
        if (fall > 0.6 * all && fall > 0.02 * findings.floor.level) lift += fall;
        middles[i] += lift;
    }
    return deepest_fall(middles) - 2.5 * findings.noise;
}

bool is_wander(const Findings& findings, const Rise& rise) {
    const Floor& floor = findings.floor;
    const std::size_t first = findings.warmup.plateau;
    const std::size_t begin = floor.first_since(rise.began);
    if (begin > first + 3) {
        const double fall = deepest_fall(std::span(floor.bytes).subspan(first, begin - first));
        if (fall - 3 * floor.noise > 0.5 * rise.bytes && rise.scatter > 0.04) return true;
    }
    if (rise.stairs) return false;
    if (rise.scatter > 0.13 && rise.inertia > 0.45) return true;
    return !findings.spikes && fall_of_middle(findings) > 0.45 * rise.bytes;
}

// The lowest sample of a tooth is above the bottom of the tooth by as much as the series grows between the fall and the
// first sample. If the sampling interval nearly divides the period, each tooth is sampled a little later than the one
// before, so the lows seem to rise until the delay reaches a whole interval. Then one tooth has one sample more or
// fewer than the others. A rise during which this happened several times is not caused by the sampling.
bool phase_passes(const Findings& findings, const Rise& rise) {
    constexpr double kTooth = 0.45;  // of the usual height
    constexpr std::ptrdiff_t kSeveral = 3;
    const auto first = std::ranges::lower_bound(findings.bins, rise.began, {}, &Bin::low_at);
    const std::span<const Bin> bins(first, findings.bins.end());
    if (bins.size() < 3) return false;
    const auto lows = find_turns(bins, std::max(kTooth * findings.spikes->height, 10 * findings.noise)).lows;
    std::vector<double> intervals;
    for (std::size_t i = 1; i < bins.size(); ++i) intervals.push_back(bins[i].low_at - bins[i - 1].low_at);
    std::vector<double> distances;
    for (std::size_t i = 1; i < lows.size(); ++i) distances.push_back(lows[i].at - lows[i - 1].at);
    const double usual = median_value(distances);
    const double half = 0.5 * median_value(std::move(intervals));
    // A distance that differs from all others is a gap in the samples, or an excursion that was not detected as a
    // tooth.
    return std::ranges::count_if(distances, [&](double distance) {
               return std::abs(distance - usual) > half && distance < 1.6 * usual && distance > usual / 1.6;
           }) >= kSeveral;
}

// Whether the rise is caused by teeth. If teeth are sampled rarely, the lowest sample of each varies, most of all if
// the period is nearly a multiple of the sampling interval. A long tooth also looks like a rise.
bool is_tooth(const Findings& findings, const Rise& rise) {
    const Floor& floor = findings.floor;
    if (const auto& spikes = findings.spikes; findings.bottoms.empty() && spikes && spikes->blur > 0)
        if (rise.bytes < (phase_passes(findings, rise) ? 1.0 : 1.25) * spikes->blur + 3 * findings.noise ||
            (rise.length < 3 * spikes->period && rise.scatter > 0.04))
            return true;
    const std::size_t begin = std::min(floor.first_since(rise.began), floor.size() - 1);
    std::size_t at = 0;
    double fall = 0;
    for (std::size_t i = 1; i <= begin; ++i)
        if (floor.bytes[i - 1] - floor.bytes[i] > fall) {
            fall = floor.bytes[i - 1] - floor.bytes[i];
            at = i;
        }
    return begin > 3 && fall > 0.5 * rise.bytes && fall > 0.015 * floor.level + 4 * floor.noise &&
           floor.bytes.back() < floor.bytes[at - 1] + 0.5 * fall &&
           rise.length < 1.5 * std::max(floor.at[at] - floor.at.front(), findings.budget);
}

// The rise may be the last part of growth that began earlier and was faster. Returns where that growth began.
std::size_t beginning_of_growth(const Findings& findings, const Rise& rise, std::size_t begin) {
    for (auto segment = findings.segments.rbegin(); segment != findings.segments.rend(); ++segment) {
        if (segment->from >= begin) continue;
        if (segment->slope < 0.15 * rise.slope) return begin;
        begin = segment->from;
    }
    return begin;
}

// Whether straight lines describe the floor from a point on better than the curve does, by the measure that found the
// lines (find_segments). A warm-up and a steady leak after it make a kink. The best curve through both is better than
// one line, but it is far from the points around the kink.
bool lines_fit_better(const Findings& findings, std::size_t from, const Saturation& curve) {
    const Floor& floor = findings.floor;
    double squares = 0;
    double lines = 0;
    for (const Segment& segment : findings.segments) {
        if (segment.to < from + 3) continue;
        squares += floor.line(std::max(segment.from, from), segment.to).squares;
        lines += 1;
    }
    const auto points = static_cast<double>(floor.size() - from);
    const double variance = std::max(floor.noise * floor.noise, squares / std::max(1.0, points - 2 * lines));
    return curve.squares > squares + (lines - 1) * kPenaltyOfLine * std::log(points + 1) * variance;
}

// Growth that slows down is a warm-up or a cache, unless a part of the growth does not slow down. Returns the bytes by
// which it will still grow, or `nullopt` if it does not slow down.
std::optional<double> to_come_if_decelerating(const Findings& findings, const Rise& rise) {
    if (rise.stairs) return std::nullopt;
    const Floor& floor = findings.floor;
    const std::size_t begin = std::min(floor.first_since(rise.began), floor.size() - 1);
    std::set<std::size_t> from{0, findings.warmup.plateau};
    for (auto segment = findings.segments.rbegin(); segment != findings.segments.rend() && from.size() < 8; ++segment)
        if (segment->from <= begin) from.insert(segment->from);
    // A curve that slows down differs from a leak most in the second half of the rise.
    const double half = floor.end() - 0.5 * rise.length;
    const std::size_t middle = std::min(floor.first_since(half), floor.size() - 3);
    const double risen = floor.line_since(middle).slope * 0.5 * rise.length;
    const double error = floor.noise * std::sqrt(12.0 / static_cast<double>(floor.size() - middle));
    const auto explains = [&](const Saturation& curve) {
        const double growth = curve.growth(half, floor.end());
        const bool on_the_whole = curve.growth(rise.began, floor.end()) > 0.5 * rise.bytes;
        return growth > 0.35 * risen || risen - growth < (on_the_whole ? 5 : 3) * error;
    };
    bool described = false;
    for (const std::size_t i : from) {
        const auto saturation = find_saturation(floor, i);
        if (!saturation || lines_fit_better(findings, i, *saturation)) continue;
        described = true;
        const bool slows = !saturation->lasts || saturation->lasting < 0.4 * rise.slope;
        if (slows && explains(*saturation)) return saturation->to_come;
    }
    if (described) return std::nullopt;
    return slowing_by_thirds(floor, std::max(findings.warmup.plateau, beginning_of_growth(findings, rise, begin)));
}

template <class Accept>
std::optional<Rise> rise_since(const Findings& findings, const Bar& bar, double since, Accept accept) {
    constexpr std::size_t kFewestBins = 40;
    constexpr std::size_t kFewestPoints = 30;
    const auto first = std::ranges::lower_bound(findings.bins, since, {}, &Bin::low_at);
    const std::span<const Bin> bins(first, findings.bins.end());
    if (bins.size() < kFewestBins) return std::nullopt;
    const Floor floor = find_floor(bins);
    if (floor.size() < kFewestPoints) return std::nullopt;
    return best_rise(floor, candidates(floor, find_segments(floor), 0), bar, findings.budget, accept);
}

// Whether the bounds of the teeth show that the floor rose by a good part of the rise, and that it continued to rise
// after the budget, no matter when the falls between the samples were.
bool rises_by_bounds(const Findings& findings, const Rise& rise, double budget_ends) {
    constexpr double kCertain = 0.2;
    const auto first = std::ranges::lower_bound(findings.bottoms, rise.began, {}, &ToothBottom::at);
    const std::span<const ToothBottom> bottoms(first, findings.bottoms.end());
    const auto slope = least_slope(bottoms);
    if (!slope || *slope * rise.length < kCertain * rise.bytes) return false;
    if (fewest_jumps(bottoms) < 3 || may_be_flat_since(bottoms, rise.began + 0.5 * rise.length)) return false;
    return rise.began >= budget_ends || !may_be_flat_since(bottoms, budget_ends);
}

// Measures a short rise again on a finer floor, because a few points do not show its rate and start exactly.
Rise closer(const Findings& findings, const Bar& bar, const Rise& rise) {
    if (rise.length > 0.25 * findings.elapsed()) return rise;
    const double since = std::max(findings.floor.end() - 2.5 * rise.length, findings.warmup.ended.value_or(0));
    const auto near = rise_since(findings, bar, since, [](const Rise&) { return true; });
    return near && near->length > 0.5 * rise.length && !rise.stairs == !near->stairs ? *near : rise;
}

// Searches the last part of a long series on a finer floor. Growth that began a few minutes ago is only one or two
// points of the floor of the whole series.
std::optional<Rise> recent_rise(const Findings& findings, Bar bar) {
    const double length = findings.elapsed();
    for (double part = length / 4; part > 3 * kShortest * findings.budget; part /= 4) {
        const double since = findings.floor.end() - part;
        if (findings.spikes && part < 8 * findings.spikes->period) break;
        if (since < bar.budget_ends || since < findings.warmup.ended.value_or(0)) continue;
        const auto accept = [&](const Rise& rise) {
            const double usual = usual_move(findings, rise);
            return rise.bytes > std::max(2 * usual + 3 * findings.floor.noise, of_few_samples(findings));
        };
        if (auto rise = rise_since(findings, bar, since, accept)) return rise;
    }
    return std::nullopt;
}

// A staircase that began before the plateau at which the warm-up seems to have ended. If steps like the earlier ones
// keep coming after the budget, the plateau is one of the treads.
std::optional<Rise> early_stairs(const Findings& findings, const Bar& bar) {
    constexpr std::ptrdiff_t kLaterSteps = 3;
    const Floor& floor = findings.floor;
    auto from = candidates(floor, findings.segments, 0);
    from.erase(from.lower_bound(findings.warmup.plateau), from.end());
    return best_rise(floor, from, bar, findings.budget, [&](const Rise& rise) {
        if (!rise.stairs) return false;
        const auto steps = find_steps(floor, rise.from);
        return std::ranges::count_if(steps, [&](const Step& step) { return step.at > bar.budget_ends; }) >= kLaterSteps;
    });
}

}  // namespace

std::optional<Leak> find_leak(const Findings& findings, const Evidence& evidence) {
    const Floor& floor = findings.floor;
    const double budget = findings.budget;
    Bar bar{.level = floor.end_level(),
            .shortest = kShortest * budget,
            .budget_ends = findings.start() + budget,
            .least_after = kAfterBudget * budget,
            .factor = evidence.bar,
            .vague = !findings.bottoms.empty(),
            .teeth = findings.spikes && findings.spikes->blur > 0};
    const auto from = candidates(floor, findings.segments, findings.warmup.plateau);
    const auto accept = [&](const Rise& rise) {
        return stands_out(findings, rise) &&
               (findings.bottoms.empty() || rises_by_bounds(findings, rise, bar.budget_ends));
    };
    auto rise = best_rise(floor, from, bar, budget, accept);
    if (findings.bottoms.empty()) rise = rise ? closer(findings, bar, *rise) : recent_rise(findings, bar);
    if (!rise) rise = early_stairs(findings, bar);
    Leak leak;
    if (!rise) {
        // Search for a rise that would be a leak without the budget.
        bar.budget_ends = findings.start();
        rise = best_rise(floor, from, bar, budget, accept);
        if (!rise || findings.elapsed() > 1.5 * budget) return std::nullopt;
        leak.doubt = Doubt::budget;
    }
    if (is_wander(findings, *rise) || is_tooth(findings, *rise)) return std::nullopt;
    if (is_like_an_earlier_tooth(findings.bins, *rise, budget)) return std::nullopt;
    leak.rise = *rise;
    if (const auto to_come = to_come_if_decelerating(findings, *rise)) {
        leak.doubt = Doubt::decelerating;
        leak.to_come = *to_come;
    }
    return leak;
}

}  // namespace memscope
