#include "analysis/trend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "analysis/statistics.h"

namespace memscope {
namespace {

constexpr double kSpacing = 0.5;     // seconds between points that are kept: the interval of ticks may be shorter
constexpr std::size_t kFewest = 6;   // samples of a window
constexpr double kCovered = 0.9;     // a window is observed if its samples cover that much of it
constexpr double kMostFall = 0.3;    // of the net rise: a size that falls back by more does not rise steadily
constexpr double kMostOff = 0.1;     // of the net rise: most samples are that near to the line, unless it is a jump
constexpr double kStillRises = 0.4;  // of the rate, in the last seconds of the window: less, and the rise has ended
constexpr double kLastSeconds = 5;   // or an eighth of the window
constexpr double kFurthest = 2;      // extrapolates by so many windows at most
constexpr std::array kWindows = {60.0, 40.0, 20.0, 10.0};  // seconds; the longest that is steady counts

using Times = std::span<const double>;

// Theil's incomplete method: the median of the slopes between each point and the one half the points later. Single
// samples that are far off do not move it.
double robust_slope(Times at, std::span<const double> bytes) {
    std::vector<double> slopes;
    const std::size_t half = at.size() / 2;
    for (std::size_t i = 0; i + half < at.size() && half > 0; ++i)
        slopes.push_back((bytes[i + half] - bytes[i]) / (at[i + half] - at[i]));
    return median_value(std::move(slopes));
}

// The largest fall from a top.
double largest_fall(std::span<const double> bytes) {
    double top = bytes.front();
    double fall = 0;
    for (const double each : bytes) {
        top = std::max(top, each);
        fall = std::max(fall, top - each);
    }
    return fall;
}

// How far samples are from the line with that slope, but for the worst tenth of them.
double distance(Times at, std::span<const double> bytes, double slope) {
    std::vector<double> heights;
    heights.reserve(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) heights.push_back(bytes[i] - slope * (at[i] - at[0]));
    const double line = median_value(heights);
    for (double& height : heights) height = std::abs(height - line);
    return quantile(std::move(heights), 0.9);
}

}  // namespace

void Trend::add(Seconds now, Bytes held) {
    const Point point{now.count(), static_cast<double>(held.n)};
    if (points_.size() >= 2 && points_.back().at - points_[points_.size() - 2].at < kSpacing)
        points_.back() = point;
    else
        points_.push_back(point);
    while (!points_.empty() && point.at - points_.front().at > kLongest.count()) points_.pop_front();
}

std::optional<SteadyRise> Trend::rise_over(Seconds window) const {
    std::vector<double> at;
    std::vector<double> bytes;
    for (const Point& point : points_) {
        if (points_.back().at - point.at > window.count()) continue;
        at.push_back(point.at);
        bytes.push_back(point.bytes);
    }
    if (at.size() < kFewest) return std::nullopt;
    const double length = at.back() - at.front();
    if (length < kCovered * window.count()) return std::nullopt;
    const double rate = robust_slope(at, bytes);
    const double net = rate * length;
    if (net <= 0 || largest_fall(bytes) > kMostFall * net || distance(at, bytes, rate) > kMostOff * net)
        return std::nullopt;
    const double last = at.back() - std::max(kLastSeconds, length / 8);
    const auto first = static_cast<std::size_t>(std::ranges::lower_bound(at, last) - at.begin());
    const std::size_t from = std::min(first, at.size() - 3);
    if (robust_slope(Times(at).subspan(from), std::span(bytes).subspan(from)) < kStillRises * rate) return std::nullopt;
    return SteadyRise{rate, Seconds(length)};
}

std::optional<SteadyRise> Trend::reaching(Bytes room, Seconds horizon) const {
    for (const double window : kWindows) {
        const auto rise = rise_over(Seconds(window));
        if (!rise) continue;
        const Seconds eta(static_cast<double>(room.n) / rise->rate);
        if (eta < horizon && eta <= kFurthest * rise->window) return rise;
    }
    return std::nullopt;
}

double Trend::mean_rate(Seconds window) const {
    if (points_.size() < 2) return 0;
    const Point& last = points_.back();
    const auto first = std::ranges::find_if(points_, [&](const Point& p) { return last.at - p.at <= window.count(); });
    return first->at < last.at ? (last.bytes - first->bytes) / (last.at - first->at) : 0;
}

}  // namespace memscope
