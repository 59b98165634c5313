#include "analysis/since_gap.h"

#include <algorithm>
#include <vector>

#include "analysis/statistics.h"

namespace memscope {
namespace {

constexpr std::size_t kEnough = 30;  // bins
constexpr double kGap = 5;           // usual distances between bins

double usual_distance(std::span<const Bin> bins) {
    std::vector<double> distances;
    for (std::size_t i = 1; i < bins.size(); ++i) distances.push_back(bins[i].low_at - bins[i - 1].low_at);
    return median_value(std::move(distances));
}

}  // namespace

std::size_t too_few_since_gap(std::span<const Bin> bins) {
    if (bins.size() < 2) return 0;
    const auto end = bins.last(std::min(bins.size(), 2 * kEnough));  // older ones may be wider
    const double usual = usual_distance(end);
    for (std::size_t since = 1; since < std::min(kEnough, end.size()); ++since) {
        const std::size_t first = end.size() - since;
        const double gap = end[first].low_at - end[first - 1].low_at;
        if (gap < kGap * usual) continue;
        return static_cast<double>(since) * usual < gap ? since : 0;  // as long as it lasted is long enough
    }
    return 0;
}

}  // namespace memscope
