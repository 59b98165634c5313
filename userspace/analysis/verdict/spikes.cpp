#include "analysis/verdict/spikes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "analysis/verdict/statistics.h"

namespace memscope {
namespace {

constexpr double kLeastHeight = 0.025;  // of the level: less is noise
constexpr double kAlike = 0.5;          // of the height: above it, the jump has not been freed, or is similar

struct Jump {
    std::size_t at = 0;  // the first bin after the jump
    double height = 0;
    double from = 0;
};

double held(const Jump& jump) { return jump.from + kAlike * jump.height; }

std::optional<Jump> jump_to(std::span<const Bin> bins, std::size_t at) {
    const double height = bins[at].low - bins[at - 1].low;
    if (height < kLeastHeight * bins[at - 1].low) return std::nullopt;
    return Jump{at, height, bins[at - 1].low};
}

bool stands_until(std::span<const Bin> bins, const Jump& jump, std::size_t end) {
    return std::ranges::all_of(bins.subspan(jump.at, end - jump.at),
                               [&](const Bin& bin) { return bin.low >= held(jump); });
}

// The highest jump in the last third after which no bin falls back.
std::optional<Jump> last_jump(std::span<const Bin> bins) {
    std::optional<Jump> highest;
    const std::size_t oldest = std::max<std::size_t>(bins.size() - bins.size() / 3, 1);
    for (std::size_t at = oldest; at < bins.size(); ++at) {
        const auto jump = jump_to(bins, at);
        if (jump && (!highest || jump->height > highest->height) && stands_until(bins, *jump, bins.size()))
            highest = jump;
    }
    return highest;
}

// Seconds until the series fell back after the jump. 0: it never did.
double lasted(std::span<const Bin> bins, const Jump& jump) {
    const auto back = std::ranges::find_if(bins.subspan(jump.at), [&](const Bin& bin) { return bin.low < held(jump); });
    return back == bins.subspan(jump.at).end() ? 0 : back->low_at - bins[jump.at].low_at;
}

}  // namespace

std::size_t open_excursion(std::span<const Bin> bins) {
    if (bins.size() < 2) return 0;
    const auto open = last_jump(bins);
    if (!open) return 0;
    const double age = bins.back().low_at - bins[open->at].low_at;
    for (std::size_t at = 1; at < open->at; ++at) {
        const auto jump = jump_to(bins.first(open->at), at);
        if (jump && jump->height >= kAlike * open->height && lasted(bins.first(open->at), *jump) >= age)
            return bins.size() - open->at;
    }
    return 0;
}

namespace {

constexpr std::size_t kEnough = 30;  // bins
constexpr double kGap = 5;           // usual distances between bins
constexpr double kNearlyAll = 0.95;  // quantile of the distances: irregular samples have long ones that are no gaps
constexpr double kUnlikeOthers = 3;  // times that quantile: the least length of a gap
constexpr double kPeriods = 2;       // after this many, the series has reached its floor again
constexpr double kOfPeriod = 0.1;    // a shorter gap cannot hide the floor

std::vector<double> distances_between(std::span<const Bin> bins) {
    std::vector<double> distances;
    for (std::size_t i = 1; i < bins.size(); ++i) distances.push_back(bins[i].low_at - bins[i - 1].low_at);
    return distances;
}

}  // namespace

std::size_t too_few_since_gap(std::span<const Bin> bins, double period) {
    if (bins.size() < 2) return 0;
    // Older distances may be wider, because old samples are joined.
    const auto distances = distances_between(bins.last(std::min(bins.size(), 2 * kEnough)));
    const double usual = median_value(distances);
    const double least = std::max(kGap * usual, kUnlikeOthers * quantile(distances, kNearlyAll));
    std::size_t too_few = 0;
    for (std::size_t since = 1; since < bins.size(); ++since) {
        const std::size_t first = bins.size() - since;
        const double lasted = bins.back().low_at - bins[first].low_at;
        const bool may_hide_floor = lasted < kPeriods * period;
        if (since >= kEnough && !may_hide_floor) break;
        const double gap = bins[first].low_at - bins[first - 1].low_at;
        if (gap < least) continue;
        // Enough samples if they cover at least as much time as the gap.
        const bool few = since < kEnough && static_cast<double>(since) * usual < gap;
        if (few || (may_hide_floor && gap > kOfPeriod * period)) too_few = since;
    }
    return too_few;
}

namespace {

constexpr std::size_t kLeastCount = 3;
constexpr std::size_t kLatest = 8;  // excursions from which the next one is predicted

struct AboveFloor {
    double at;
    double above;  // bytes above the floor
    double bytes;
};

// The series as a line through its lows and highs, measured from the floor.
std::vector<AboveFloor> points_above(std::span<const Bin> bins, const Floor& floor) {
    constexpr std::size_t kManyPoints = 40;
    std::vector<AboveFloor> points;
    points.reserve(2 * bins.size());
    std::size_t k = 0;
    const auto add = [&](double at, double bytes) {
        while (k + 2 < floor.size() && floor.at[k + 1] < at) ++k;
        double under = floor.bytes[k];
        if (at >= floor.end()) {
            under = floor.bytes.back();
        } else if (at > floor.at.front() && k + 1 < floor.size()) {
            const double next = floor.bytes[k + 1];
            const double part = (at - floor.at[k]) / std::max(floor.at[k + 1] - floor.at[k], 1e-9);
            // Between close points use the higher one, because samples below it belong to the step between them.
            under = floor.size() >= kManyPoints ? std::max(under, next) : under + (next - under) * part;
        }
        points.push_back({at, bytes - under, bytes});
    };
    for (const Bin& bin : bins) {
        if (bin.high_at < bin.low_at) add(bin.high_at, bin.high);
        add(bin.low_at, bin.low);
        if (bin.high_at > bin.low_at) add(bin.high_at, bin.high);
    }
    return points;
}

struct Excursion {
    double began = 0;
    double height = 0;  // above the floor
    double top = 0;     // bytes
    double top_at = 0;
    std::size_t low_before = 0;  // points around it
    std::size_t low_after = 0;
};

std::vector<Excursion> find_excursions(const std::vector<AboveFloor>& points, double up, double down) {
    std::vector<Excursion> found;
    std::optional<Excursion> open;
    std::size_t low = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const double above = points[i].above;
        if (!open && above > up)
            open = Excursion{.began = points[i].at, .low_before = low, .low_after = points.size() - 1};
        if (open) open->height = std::max(open->height, above);
        if (open && points[i].bytes > open->top) {
            open->top = points[i].bytes;
            open->top_at = points[i].at;
        }
        if (above >= down) continue;
        low = i;
        if (!open) continue;
        open->low_after = i;
        found.push_back(*open);
        open.reset();
    }
    if (open) found.push_back(*open);
    return found;
}

// Whether most of the excursion rises or falls within `within` seconds, as a tooth does and random drift does not.
bool is_abrupt(const std::vector<AboveFloor>& points, const Excursion& excursion, double within, double noise) {
    const std::size_t last = std::min(points.size() - 1, excursion.low_after + 1);
    std::size_t back = excursion.low_before;
    for (std::size_t i = back; i <= last; ++i) {
        while (i - back > 2 && points[i].at - points[back].at > within) ++back;
        for (std::size_t k = back; k < i; ++k)
            if (std::abs(points[i].above - points[k].above) > 0.55 * excursion.height + 2.5 * noise) return true;
    }
    return false;
}

std::uint64_t samples_in(std::span<const Bin> bins) {
    std::uint64_t n = 0;
    for (const Bin& bin : bins) n += bin.count;
    return n;
}

std::vector<double> heights_of(const std::vector<AboveFloor>& points) {
    std::vector<double> heights;
    heights.reserve(points.size());
    for (const AboveFloor& point : points) heights.push_back(point.above);
    return heights;
}

// The largest part of the values that lies within a band of `width` bytes: near 1 for a floor with spikes, small for a
// sawtooth and for random drift.
double part_within(std::vector<double> values, double width) {
    std::ranges::sort(values);
    std::size_t most = 0;
    for (std::size_t low = 0, high = 0; high < values.size(); ++high) {
        while (values[high] - values[low] > width) ++low;
        most = std::max(most, high - low + 1);
    }
    return static_cast<double>(most) / static_cast<double>(values.size());
}

std::vector<double> distances_of(const std::vector<Excursion>& excursions) {
    std::vector<double> distances;
    for (std::size_t i = 1; i < excursions.size(); ++i)
        distances.push_back(excursions[i].began - excursions[i - 1].began);
    return distances;
}

}  // namespace

std::optional<Spikes> find_spikes(std::span<const Bin> bins, const Floor& floor, double noise) {
    const auto points = points_above(bins, floor);
    const auto heights = heights_of(points);
    const double usual = quantile(heights, 0.25);
    // With more samples, noise alone makes the highest of them higher, and the lowest of a bin lower.
    const auto samples = static_cast<double>(samples_in(bins));
    const auto a_bin = std::max(1.0, samples / static_cast<double>(bins.size()));
    const double chance = 2.5 + std::sqrt(2 * std::log(samples)) + std::sqrt(2 * std::log(a_bin));
    const double up = usual + std::max(kLeastHeight * floor.level, chance * noise);
    const auto all = find_excursions(points, up, usual + 0.2 * (up - usual));
    if (all.size() < kLeastCount) return std::nullopt;

    std::vector<double> tops;
    tops.reserve(all.size());
    for (const Excursion& each : all) tops.push_back(each.height);
    const double height = median_value(std::move(tops));
    std::vector<Excursion> large;
    for (const Excursion& each : all)
        if (each.height > 0.4 * height) large.push_back(each);
    if (large.size() < kLeastCount) return std::nullopt;
    const double period = median_value(distances_of(large));

    const double usual_step = (points.back().at - points.front().at) / static_cast<double>(points.size());
    const bool quiet = quantile(heights, 0.5) - quantile(heights, 0.1) < 0.12 * height + 1.3 * noise ||
                       part_within(heights, 0.1 * height + 2 * noise) > 0.6;
    if (!quiet) {
        const auto abrupt = std::ranges::count_if(
            large, [&](const Excursion& each) { return is_abrupt(points, each, 0.02 * period, noise); });
        if (static_cast<double>(abrupt) < 0.6 * static_cast<double>(large.size())) return std::nullopt;
    }
    // Use only the latest excursions, because the floor may have risen since the first ones.
    const std::span<const Excursion> latest = std::span(large).last(std::min(large.size(), kLatest));
    tops.clear();
    for (const Excursion& each : latest) tops.push_back(each.height);
    const Excursion& highest = *std::ranges::max_element(latest, {}, &Excursion::top);
    return Spikes{.count = static_cast<int>(large.size()),
                  .height = median_value(tops),
                  .period = period,
                  .last_at = large.back().began,
                  .top = highest.top,
                  .top_at = highest.top_at,
                  .blur = quiet ? 0 : height * usual_step / std::max(period, 1e-9)};
}

}  // namespace memscope
