#include "analysis/verdict/teeth.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/verdict/statistics.h"

namespace memscope {
namespace {

struct SamplePoint {
    double at = 0;
    double bytes = 0;
};

// The series as a line through its lows and highs.
std::vector<SamplePoint> points_of(std::span<const Bin> bins) {
    std::vector<SamplePoint> points;
    points.reserve(2 * bins.size());
    for (const Bin& bin : bins) {
        if (bin.high_at < bin.low_at) points.push_back({bin.high_at, bin.high});
        points.push_back({bin.low_at, bin.low});
        if (bin.high_at > bin.low_at) points.push_back({bin.high_at, bin.high});
    }
    return points;
}

std::size_t first_since(const std::vector<SamplePoint>& points, double time) {
    return static_cast<std::size_t>(std::ranges::lower_bound(points, time, {}, &SamplePoint::at) - points.begin());
}

// The two points between which the series fell from a high to a low. If it fell in several steps, the high and the low.
struct ToothFall {
    std::size_t before = 0;
    std::size_t after = 0;
};
ToothFall find_fall(const std::vector<SamplePoint>& points, const Turn& high, const Turn& low) {
    const ToothFall all{first_since(points, high.at), first_since(points, low.at)};
    for (std::size_t i = all.before; i < all.after; ++i)
        if (points[i].bytes - points[i + 1].bytes > 0.5 * (high.bytes - low.bytes)) return {i, i + 1};
    return all;
}

std::optional<ToothBottom> bottom_of(std::span<const SamplePoint> tooth, double fell_after, double noise) {
    constexpr std::size_t kFewest = 3;
    if (tooth.size() < kFewest) return std::nullopt;
    std::vector<double> at;
    std::vector<double> bytes;
    for (const SamplePoint& point : tooth) {
        at.push_back(point.at);
        bytes.push_back(point.bytes);
    }
    const Line line = LineFits(at, bytes).line(0, tooth.size());
    if (line.slope <= 0) return std::nullopt;
    double squares = 0;
    for (const double each : at) squares += (each - line.at) * (each - line.at);
    const auto n = static_cast<double>(tooth.size());
    const double spread = std::max(noise, std::sqrt(line.squares / std::max(1.0, n - 2)));
    const double first = tooth.front().at;
    return ToothBottom{
        .at = 0.5 * (fell_after + first),
        .least = line.value(fell_after),
        .most = line.value(first),
        .spread = spread,
        .error = spread * std::sqrt(1 / n + (first - line.at) * (first - line.at) / std::max(squares, 1e-9))};
}

double usual_spread(std::span<const ToothBottom> bottoms) {
    std::vector<double> spreads;
    for (const ToothBottom& bottom : bottoms) spreads.push_back(bottom.spread);
    return median_value(std::move(spreads));
}

}  // namespace

double ToothBottom::uncertainty() const {
    const double width = most - least;
    return std::sqrt(width * width / 12 + error * error);
}

std::vector<ToothBottom> find_tooth_bottoms(std::span<const Bin> bins, double height, double noise) {
    constexpr double kTooth = 0.45;  // of the usual height: the least fall between two teeth
    constexpr double kRisen = 0.3;   // of the usual height: how far the last tooth must have risen
    constexpr double kCrooked = 4;   // times the usual spread around the line: a gap may have hidden another fall
    const Turns turns = find_turns(bins, std::max(kTooth * height, 10 * noise));
    const std::vector<SamplePoint> points = points_of(bins);
    std::vector<ToothBottom> bottoms;
    for (const Turn& low : turns.lows) {
        const auto top = std::ranges::upper_bound(turns.highs, low.at, {}, &Turn::at);
        if (top == turns.highs.begin()) continue;  // the series begins with this tooth
        const ToothFall fall = find_fall(points, *std::prev(top), low);
        const std::size_t end = top == turns.highs.end() ? points.size() : first_since(points, top->at) + 1;
        if (end <= fall.after) continue;
        const std::span<const SamplePoint> tooth = std::span(points).subspan(fall.after, end - fall.after);
        if (tooth.back().bytes - tooth.front().bytes < kRisen * height) continue;
        if (const auto bottom = bottom_of(tooth, points[fall.before].at, noise)) bottoms.push_back(*bottom);
    }
    const double usual = usual_spread(bottoms);
    std::erase_if(bottoms, [&](const ToothBottom& bottom) { return bottom.spread > kCrooked * usual; });
    return bottoms;
}

std::optional<Floor> floor_of_bottoms(std::span<const ToothBottom> bottoms, double noise, double level) {
    constexpr std::size_t kFewest = 5;
    constexpr std::size_t kMost = 120;
    constexpr std::size_t kFew = 8;  // with at most this many bottoms, each is needed
    constexpr double kVague = 1.5;   // times the usual uncertainty
    std::vector<double> doubts;
    for (const ToothBottom& bottom : bottoms) doubts.push_back(bottom.uncertainty());
    const double usual = median_value(doubts);
    std::vector<double> at;
    std::vector<double> bytes;
    double squares = 0;
    for (const ToothBottom& bottom : bottoms) {
        if (bottoms.size() > kFew && bottom.uncertainty() > kVague * usual) continue;
        at.push_back(bottom.at);
        bytes.push_back(bottom.middle());
        squares += bottom.uncertainty() * bottom.uncertainty();
    }
    if (at.size() < kFewest || at.size() > kMost) return std::nullopt;
    const double uncertain = std::sqrt(squares / static_cast<double>(at.size()));
    Floor floor = floor_through(std::move(at), std::move(bytes), noise, level);
    floor.noise = uncertain;
    return floor;
}

namespace {

// A floor that is straight until some time and flat from then on, compared with the bounds of the teeth.
struct BentFloor {
    std::span<const ToothBottom> bottoms;
    double until;
    double errors;  // by how many standard errors the bounds may be wrong

    // By how much the bounds miss the floor if it has this slope, in bytes. At most 0: the floor agrees with all of
    // them.
    double misses(double slope) const {
        constexpr double kWider = 0.1;  // of the distance between the bounds: a tooth may grow faster after its fall
        double highest = -std::numeric_limits<double>::infinity();
        double lowest = -highest;
        for (const ToothBottom& bottom : bottoms) {
            const double floor = slope * (std::min(bottom.at, until) - bottoms.front().at);
            const double least = bottom.least - kWider * (bottom.most - bottom.least) - errors * bottom.error;
            highest = std::max(highest, least - floor);
            lowest = std::min(lowest, bottom.most + errors * bottom.error - floor);
        }
        return highest - lowest;
    }
    double steepest() const {
        const double highest = std::ranges::max(bottoms, {}, &ToothBottom::most).most;
        return 4 * highest / std::max(std::min(bottoms.back().at, until) - bottoms.front().at, 1e-9);
    }
    // The slope that the bounds miss least. misses() is a convex function of the slope.
    double best_slope() const {
        double from = -steepest();
        double to = steepest();
        for (int i = 0; i < kRounds; ++i) {
            const double third = (to - from) / 3;
            if (misses(from + third) <= misses(to - third))
                to -= third;
            else
                from += third;
        }
        return 0.5 * (from + to);
    }
    static constexpr int kRounds = 60;
};

// Standard errors by which the bounds may be wrong, for a floor that rises, that stopped rising, and that jumped.
constexpr double kErrorsOfRise = 3;
constexpr double kErrorsOfEnd = 2;
constexpr double kErrorsOfJump = 1;

}  // namespace

std::optional<double> least_slope(std::span<const ToothBottom> bottoms) {
    if (bottoms.size() < 2 || bottoms.back().at <= bottoms.front().at) return std::nullopt;
    const BentFloor floor{bottoms, bottoms.back().at, kErrorsOfRise};
    double agrees = floor.best_slope();
    if (floor.misses(agrees) > 0) return std::nullopt;
    double too_low = -floor.steepest();
    for (int i = 0; i < BentFloor::kRounds; ++i) {
        const double middle = 0.5 * (too_low + agrees);
        (floor.misses(middle) > 0 ? too_low : agrees) = middle;
    }
    return agrees;
}

std::size_t fewest_jumps(std::span<const ToothBottom> bottoms) {
    std::size_t jumps = 0;
    double highest = -std::numeric_limits<double>::infinity();
    double lowest = -highest;
    for (const ToothBottom& bottom : bottoms) {
        const double least = bottom.least - kErrorsOfJump * bottom.error;
        const double most = bottom.most + kErrorsOfJump * bottom.error;
        highest = std::max(highest, least);
        lowest = std::min(lowest, most);
        if (highest <= lowest) continue;
        ++jumps;
        highest = least;
        lowest = most;
    }
    return jumps;
}

bool may_be_flat_since(std::span<const ToothBottom> bottoms, double time) {
    if (bottoms.empty() || time >= bottoms.back().at) return true;
    const BentFloor floor{bottoms, std::max(time, bottoms.front().at), kErrorsOfEnd};
    return floor.misses(floor.best_slope()) <= 0;
}

}  // namespace memscope
