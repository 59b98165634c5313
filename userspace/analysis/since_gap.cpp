#include "analysis/since_gap.h"

#include <algorithm>
#include <vector>

#include "analysis/statistics.h"

namespace memscope {
namespace {

constexpr std::size_t kEnough = 30;  // bins
constexpr double kGap = 5;           // usual distances between bins
constexpr double kNearlyAll = 0.95;  // of the distances: irregular samples have long ones that are no gaps,
constexpr double kUnlikeOthers = 3;  // so that a gap is so many times as long as nearly all
constexpr double kPeriods = 2;       // in which the floor is seen again
constexpr double kOfPeriod = 0.1;    // less is not long enough to hide the floor

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
        // As long as it lasted is long enough.
        const bool few = since < kEnough && static_cast<double>(since) * usual < gap;
        if (few || (may_hide_floor && gap > kOfPeriod * period)) too_few = since;
    }
    return too_few;
}

}  // namespace memscope
