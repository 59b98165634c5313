#include "analysis/since_gap.h"

#include <algorithm>
#include <vector>

#include "analysis/statistics.h"

namespace memscope {
namespace {

constexpr std::size_t kEnough = 30;  // bins
constexpr double kGap = 5;           // usual distances between bins
constexpr double kPeriods = 2;       // in which the floor is seen again
constexpr double kOfPeriod = 0.1;    // less is not long enough to hide the floor

double usual_distance(std::span<const Bin> bins) {
    std::vector<double> distances;
    for (std::size_t i = 1; i < bins.size(); ++i) distances.push_back(bins[i].low_at - bins[i - 1].low_at);
    return median_value(std::move(distances));
}

}  // namespace

std::size_t too_few_since_gap(std::span<const Bin> bins, double period) {
    if (bins.size() < 2) return 0;
    const double usual = usual_distance(bins.last(std::min(bins.size(), 2 * kEnough)));  // older ones may be wider
    std::size_t too_few = 0;
    for (std::size_t since = 1; since < bins.size(); ++since) {
        const std::size_t first = bins.size() - since;
        const double lasted = bins.back().low_at - bins[first].low_at;
        const bool may_hide_floor = lasted < kPeriods * period;
        if (since >= kEnough && !may_hide_floor) break;
        const double gap = bins[first].low_at - bins[first - 1].low_at;
        if (gap < kGap * usual) continue;
        // As long as it lasted is long enough.
        const bool few = since < kEnough && static_cast<double>(since) * usual < gap;
        if (few || (may_hide_floor && gap > kOfPeriod * period)) too_few = since;
    }
    return too_few;
}

}  // namespace memscope
