#include "analysis/verdict/statistics.h"

#include <algorithm>
#include <numeric>

namespace memscope {

double quantile(std::vector<double> values, double fraction) {
    if (values.empty()) return 0;
    const auto last = static_cast<double>(values.size() - 1);
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::clamp(fraction * last + 0.5, 0.0, last));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

double median_value(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

LineFits::LineFits(std::span<const double> times, std::span<const double> values) : sums_(times.size() + 1) {
    if (times.empty()) return;
    // Sums of squares lose precision far from zero, so times count from the first point and values from their mean.
    first_ = times.front();
    mean_ = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    for (std::size_t i = 0; i < times.size(); ++i) {
        const double x = times[i] - first_;
        const double y = values[i] - mean_;
        const Sums& s = sums_[i];
        sums_[i + 1] = {s.x + x, s.y + y, s.xx + x * x, s.xy + x * y, s.yy + y * y};
    }
}

Line LineFits::line(std::size_t from, std::size_t to) const {
    const Sums& a = sums_[from];
    const Sums& b = sums_[to];
    const auto n = static_cast<double>(to - from);
    const double x = b.x - a.x;
    const double y = b.y - a.y;
    const double xx = b.xx - a.xx - x * x / n;
    const double xy = b.xy - a.xy - x * y / n;
    const double yy = b.yy - a.yy - y * y / n;
    Line line{.at = first_ + x / n, .height = mean_ + y / n, .squares = std::max(yy, 0.0)};
    if (xx <= 1e-9) return line;
    line.slope = xy / xx;
    line.squares = std::max(yy - line.slope * xy, 0.0);
    return line;
}

}  // namespace memscope
