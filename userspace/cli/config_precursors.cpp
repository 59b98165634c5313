#include "cli/config_precursors.h"

#include <charconv>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

// "90%", "2.5%": of the whole, so not more than 100.
Result<double> parse_percentage(std::string_view text) {
    const Error error =
        plain_error(fmt::format("'{}' is not a share", shortened(text)), "write a number of percent, as in 90%");
    if (!text.ends_with('%')) return error;
    const std::string_view number = text.substr(0, text.size() - 1);
    double percent = 0;
    const auto [end, code] =
        std::from_chars(number.data(), number.data() + number.size(), percent, std::chars_format::fixed);
    if (code != std::errc{} || end != number.data() + number.size()) return error;
    if (!(percent >= 0 && percent <= 100)) return error;
    return percent / 100;
}

template <auto member>
Status set_share(PrecursorSettings& settings, std::string_view value) {
    const auto share = parse_percentage(value);
    if (!share) return share.error();
    settings.*member = *share;
    return Done{};
}

template <auto member>
Status set_time(PrecursorSettings& settings, std::string_view value) {
    const auto time = parse_duration(value);
    if (!time) return time.error();
    constexpr Seconds kLeast = std::chrono::milliseconds(100), kMost = std::chrono::hours(24);
    if (*time < kLeast || *time > kMost)
        return plain_error(fmt::format("'{}' is out of range", shortened(value)), "from 100ms to 24h");
    settings.*member = *time;
    return Done{};
}

Status set_least(PrecursorSettings& settings, std::string_view value) {
    const auto size = parse_size(value);
    if (!size) return size.error();
    settings.host_low_least = *size;
    return Done{};
}

using Settings = PrecursorSettings;
constexpr PrecursorKey kKeys[] = {
    {"eta", "10m", set_time<&Settings::eta>},
    {"eta_warmup", "2m", set_time<&Settings::eta_warmup>},
    {"eta_warmup_held", "80%", set_share<&Settings::eta_warmup_held>},
    {"near_limit", "90%", set_share<&Settings::near_limit>},
    {"near_limit_for", "30s", set_time<&Settings::near_limit_for>},
    {"pressure", "10%", set_share<&Settings::pressure>},
    {"reclaim", "5%", set_share<&Settings::reclaim>},
    {"reclaim_window", "60s", set_time<&Settings::reclaim_window>},
    {"refault", "1%", set_share<&Settings::refault>},
    {"refault_for", "60s", set_time<&Settings::refault_for>},
    {"high_throttled", "30s", set_time<&Settings::high_throttled>},
    {"shm_full", "90%", set_share<&Settings::shm_full>},
    {"host_low", "2%", set_share<&Settings::host_low>},
    {"host_low_least", "1G", set_least},
    {"clear_after", "60s", set_time<&Settings::clear_after>},
};

}  // namespace

std::span<const PrecursorKey> precursor_keys() { return kKeys; }

}  // namespace memscope
