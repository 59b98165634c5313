#include "view/sparkline.h"

#include <algorithm>
#include <cmath>

namespace memscope::view {
namespace {

constexpr const char* kSteps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr double kLeastSpan = 0.05;

std::vector<double> columns_of(const Series& series, std::size_t width) {
    const std::size_t count = series.values.size();
    const std::size_t share = (count + width - 1) / width;
    const std::uint64_t first = series.last_tick + 1 - count;
    std::vector<double> columns;
    for (std::size_t i = 0; i < count;) {
        const std::uint64_t group = (first + i) / share;
        double sum = 0;
        double n = 0;
        for (; i < count && (first + i) / share == group; ++i, ++n) sum += static_cast<double>(series.values[i]);
        columns.push_back(sum / n);
    }
    if (columns.size() > width) columns.erase(columns.begin(), columns.end() - static_cast<std::ptrdiff_t>(width));
    return columns;
}

}  // namespace

std::string sparkline(const Series& series, std::size_t width) {
    if (width == 0) return {};
    if (series.values.empty()) return std::string(width, ' ');
    const std::vector<double> columns = columns_of(series, width);
    const auto [low, high] = std::ranges::minmax(columns);
    const double span = std::max(high - low, high * kLeastSpan);
    const double bottom = std::max((high + low - span) / 2, 0.0);
    std::string out(width - columns.size(), ' ');
    for (const double value : columns) {
        const double height = span > 0 ? (value - bottom) / span : 0;
        const auto step = static_cast<std::size_t>(std::clamp(std::floor(height * 7.999), 0.0, 7.0));
        out += kSteps[step];
    }
    return out;
}

}  // namespace memscope::view
