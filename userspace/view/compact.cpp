#include "view/compact.h"

#include <cmath>
#include <fmt/format.h>

namespace memscope::view {
namespace {

// At most three digits: 999.5 of a unit becomes 1.0 of the next unit.
std::string scaled(double value, double step, std::string_view units) {
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= step;
        ++unit;
    }
    const std::string_view name = units[unit] == ' ' ? std::string_view{} : units.substr(unit, 1);
    if (value >= 999.5) return fmt::format(">999{}", name).substr(0, 4);
    return value < 9.95 && unit > 0 ? fmt::format("{:.1f}{}", value, name) : fmt::format("{:.0f}{}", value, name);
}

constexpr double kPage = 4096;

}  // namespace

std::string compact_size(Bytes size) {
    if (size.n == 0) return "0";
    return scaled(static_cast<double>(size.n) / 1024, 1024, "KMGTPE");
}

std::string compact_change(std::optional<double> bytes_per_second) {
    if (!bytes_per_second || !std::isfinite(*bytes_per_second)) return "-";
    if (std::abs(*bytes_per_second) < kPage) return "0";
    return (*bytes_per_second < 0 ? "-" : "+") + scaled(std::abs(*bytes_per_second) / 1024, 1024, "KMGTPE");
}

std::string compact_count(std::optional<double> count) {
    if (!count || !std::isfinite(*count) || *count < 0) return "-";
    return scaled(*count, 1000, " kMGTPE");
}

}  // namespace memscope::view
