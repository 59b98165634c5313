#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memscope {

// A sample outside of these limits is an error.
inline constexpr double kLargestTime = 1e12;  // seconds, also before 0
inline constexpr double kLargestSize = 9e18;  // bytes; below 2^63

// Bytes of a unit: B, kB, MB, GB, TB, KiB, MiB, GiB, TiB, K, M, G, T, bytes, in any case. All are powers of 1024, as in
// /proc and in the sizes of memscope's own options. nullopt: it is not a unit.
std::optional<double> parse_unit(std::string_view text);
// The unit at the end of a column's name: rss_kb, memory.used [MiB], "Memory (GB)", bytes.
std::optional<double> unit_in_name(std::string_view name);

// "1234", "1.5e9".
std::optional<double> parse_decimal(std::string_view text);
// "1.5GiB", "1234 kB", "1234": bytes. A unit in the text has priority. nullopt: it is not a size, or its unit is not
// known.
std::optional<double> parse_sample_size(std::string_view text, std::optional<double> unit);

// Seconds: a number, or a date with a time, as in 2026-11-15 03:40:00, 2026/11/15 03:40:00.123,
// 2026-11-15T03:40:00Z and 2026-11-15T03:40:00+01:00. A time without a zone counts as UTC, because only differences
// between times matter.
std::optional<double> parse_sample_time(std::string_view text);
// "15:04:05", "03:04:05 PM" (two words): seconds since midnight.
std::optional<double> parse_clock(std::string_view clock, std::string_view half_of_day);

// The words between blanks.
std::vector<std::string_view> words_of(std::string_view line);

}  // namespace memscope
