#include "cli/series/sample_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>

#include "base/text.h"

namespace memscope {
namespace {

std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes exactly `digits` digits from the front.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
    if (text.size() < digits ||
        !std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(digits), is_digit))
        return std::nullopt;
    int value = 0;
    for (const char c : text.substr(0, digits)) value = 10 * value + (c - '0');
    text.remove_prefix(digits);
    return value;
}

bool take(std::string_view& text, char wanted) {
    if (text.empty() || text.front() != wanted) return false;
    text.remove_prefix(1);
    return true;
}

// "03:40", "03:40:00", "03:40:00.123"
std::optional<double> take_time_of_day(std::string_view& text) {
    const auto hours = take_digits(text, 2);
    if (!hours || !take(text, ':')) return std::nullopt;
    const auto minutes = take_digits(text, 2);
    if (!minutes || *hours > 24 || *minutes > 59) return std::nullopt;
    double seconds = 0;
    if (take(text, ':')) {
        const auto whole = take_digits(text, 2);
        if (!whole || *whole > 60) return std::nullopt;
        seconds = *whole;
        if (!text.empty() && (text.front() == '.' || text.front() == ',')) {
            text.remove_prefix(1);
            double scale = 0.1;
            if (text.empty() || !is_digit(text.front())) return std::nullopt;
            for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1), scale /= 10)
                seconds += scale * (text.front() - '0');
        }
    }
    return *hours * 3600.0 + *minutes * 60.0 + seconds;
}

// "Z", "+01:00", "+0100", " UTC", or nothing: seconds to subtract.
std::optional<double> zone_offset(std::string_view text) {
    text = trimmed(text);
    if (text.empty() || text == "Z" || text == "z" || text == "UTC") return 0;
    const bool east = text.front() == '+';
    if (!east && text.front() != '-') return std::nullopt;
    text.remove_prefix(1);
    const auto hours = take_digits(text, 2);
    if (!text.empty() && text.front() == ':') text.remove_prefix(1);
    const auto minutes = text.empty() ? std::optional(0) : take_digits(text, 2);
    if (!hours || !minutes || !text.empty() || *hours > 15 || *minutes > 59) return std::nullopt;
    return (east ? 1 : -1) * (*hours * 3600.0 + *minutes * 60.0);
}

std::optional<double> parse_date_and_time(std::string_view text) {
    const auto year = take_digits(text, 4);
    if (!year || text.empty() || (text.front() != '-' && text.front() != '/')) return std::nullopt;
    const char separator = text.front();
    text.remove_prefix(1);
    const auto month = take_digits(text, 2);
    if (!month || !take(text, separator)) return std::nullopt;
    const auto day = take_digits(text, 2);
    if (!day) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok() || text.empty() || (text.front() != 'T' && text.front() != ' ')) return std::nullopt;
    text.remove_prefix(1);
    const auto time = take_time_of_day(text);
    const auto zone = time ? zone_offset(text) : std::nullopt;
    if (!zone) return std::nullopt;
    const auto days = std::chrono::sys_days(date).time_since_epoch().count();
    return static_cast<double>(days) * 86400 + *time - *zone;
}

}  // namespace

std::optional<double> parse_unit(std::string_view text) {
    const std::string name = lower_case(trimmed(text));
    if (name == "b" || name == "byte" || name == "bytes") return 1;
    constexpr std::string_view kPrefixes = "kmgt";
    if (name.empty()) return std::nullopt;
    const auto power = kPrefixes.find(name.front());
    const std::string_view rest = std::string_view(name).substr(1);
    if (power == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib" || rest == "bytes"))
        return std::nullopt;
    return std::pow(1024.0, static_cast<double>(power + 1));
}

std::optional<double> unit_in_name(std::string_view name) {
    name = trimmed(name);
    if (!name.empty() && (name.back() == ']' || name.back() == ')')) name.remove_suffix(1);
    const auto begin = name.find_last_of("_ [(.");
    const std::string_view last = begin == std::string_view::npos ? name : name.substr(begin + 1);
    if (last.size() == 1 && last != "B") return std::nullopt;  // "time_t" has no unit
    return parse_unit(last);
}

std::optional<double> parse_decimal(std::string_view text) {
    text = trimmed(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

std::optional<double> parse_sample_size(std::string_view text, std::optional<double> unit) {
    text = trimmed(text);
    const auto end = text.find_last_of("0123456789.");
    if (end == std::string_view::npos) return std::nullopt;
    const auto number = parse_decimal(text.substr(0, end + 1));
    const std::string_view suffix = trimmed(text.substr(end + 1));
    const auto factor = suffix.empty() ? unit : parse_unit(suffix);
    if (!number || !factor) return std::nullopt;
    return *number * *factor;
}

std::optional<double> parse_sample_time(std::string_view text) {
    text = trimmed(text);
    if (const auto number = parse_decimal(text)) return number;
    return parse_date_and_time(text);
}

std::optional<double> parse_clock(std::string_view clock, std::string_view half_of_day) {
    const auto time = take_time_of_day(clock);
    if (!time || !clock.empty()) return std::nullopt;
    if (half_of_day.empty()) return time;
    constexpr double kHalf = 12 * 3600.0;
    if (*time < 3600 || *time >= kHalf + 3600) return std::nullopt;  // 01:00 to 12:59
    const double after = *time >= kHalf ? *time - kHalf : *time;     // 12:30 AM is half past midnight
    return half_of_day == "PM" ? after + kHalf : after;
}

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (std::size_t at = line.find_first_not_of(" \t"); at != std::string_view::npos;) {
        const auto end = std::min(line.find_first_of(" \t", at), line.size());
        words.push_back(line.substr(at, end - at));
        at = line.find_first_not_of(" \t", end);
    }
    return words;
}

}  // namespace memscope
