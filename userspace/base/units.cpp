#include "base/units.h"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <unistd.h>

#include "base/text.h"

namespace memscope {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr double kKibi = 1024;
constexpr Unit kSizeUnits[] = {
    {"", 1}, {"B", 1}, {"K", kKibi}, {"M", kKibi* kKibi}, {"G", kKibi* kKibi* kKibi}, {"T", kKibi* kKibi* kKibi* kKibi},
};
constexpr Unit kDurationUnits[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};

// Parses a finite number that is not negative, followed by a unit of the table.
template <std::size_t N>
std::optional<double> parse_quantity(std::string_view text, const Unit (&units)[N]) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || value < 0 || !std::isfinite(value)) return std::nullopt;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const Unit& known : units)
        if (known.name == unit) return value * known.factor;
    return std::nullopt;
}

}  // namespace

Result<Bytes> parse_size(std::string_view text) {
    constexpr double kLargest = 9.2e18;  // below 2^63, so the value fits a 64-bit integer, signed or not
    const auto value = parse_quantity(text, kSizeUnits);
    if (!value || *value > kLargest)
        return plain_error(fmt::format("'{}' is not a size", shortened(text)), "write 512M, 1.5G or a number of bytes");
    return Bytes{static_cast<std::uint64_t>(*value)};
}

Result<Seconds> parse_duration(std::string_view text) {
    const auto value = parse_quantity(text, kDurationUnits);
    if (!value)
        return plain_error(fmt::format("'{}' is not a duration", shortened(text)), "write 500ms, 10s, 5m or 2h");
    return Seconds{*value};
}

std::string human_size(Bytes size) {
    constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = static_cast<double>(size.n);
    std::size_t unit = 0;
    while (value >= 1023.5 && unit + 1 < std::size(kNames)) {
        value /= kKibi;
        ++unit;
    }
    return value < 10 && unit > 0 ? fmt::format("{:.1f} {}", value, kNames[unit])
                                  : fmt::format("{:.0f} {}", value, kNames[unit]);
}

std::string human_rate(double bytes_per_second) {
    constexpr double kFast = 10 * kKibi * kKibi * kKibi;  // per hour
    constexpr double kMost = 1.8e19;                      // fits into 64 bits
    const double size = std::abs(bytes_per_second);
    const bool fast = size * 3600 > kFast;
    const double shown = std::clamp(std::round(size * (fast ? 60 : 3600)), 0.0, kMost);
    return fmt::format("{}{}/{}", bytes_per_second < 0 ? "-" : "", human_size({static_cast<std::uint64_t>(shown)}),
                       fast ? "min" : "h");
}

std::string human_duration(Seconds duration) {
    const double s = duration.count();
    if (s < 1) return fmt::format("{:.0f} ms", s * 1000);
    if (s < 120) return fmt::format("{:.0f} s", s);
    if (s < 7200) return fmt::format("{:.0f} min", s / 60);
    return fmt::format("{:.1f} h", s / 3600);
}

std::uint64_t page_bytes() {
    static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return size;
}

}  // namespace memscope
