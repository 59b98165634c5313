#include "cli/recordings/moment.h"

#include <ctime>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "base/text.h"
#include "base/units.h"

namespace memscope {
namespace {

constexpr std::string_view kAgo = " ago";
constexpr double kDay = 86400;

Error not_a_time(std::string_view text) {
    return plain_error(fmt::format("'{}' is not a time", shortened(text)),
                       "write it as in '2h ago', 03:40 or '2026-11-15 03:40'");
}

// Numbers of one or two digits (four for a year) between separators.
std::optional<std::vector<int>> numbers(std::string_view text, char separator, std::size_t least, std::size_t most) {
    std::vector<int> found;
    for (const std::string_view part : split(text, separator)) {
        const auto number = parse_number(part);
        if (!number || part.size() > 4) return std::nullopt;
        found.push_back(static_cast<int>(*number));
    }
    if (found.size() < least || found.size() > most) return std::nullopt;
    return found;
}

bool is_time_of_day(const std::vector<int>& parts) {
    return parts[0] < 24 && parts[1] < 60 && (parts.size() < 3 || parts[2] < 60);
}

}  // namespace

Result<double> parse_moment(std::string_view text, double now, double latest) {
    std::string_view rest = trimmed(text);
    if (rest.ends_with(kAgo)) {
        const auto duration = parse_duration(trimmed(rest.substr(0, rest.size() - kAgo.size())));
        if (!duration) return not_a_time(text);
        return now - duration->count();
    }
    const bool universal = rest.ends_with('Z');
    if (universal) rest.remove_suffix(1);
    const auto gap = rest.find_first_of(" T");
    const std::string_view day = gap == std::string_view::npos ? std::string_view() : rest.substr(0, gap);
    const auto clock = numbers(gap == std::string_view::npos ? rest : trimmed(rest.substr(gap + 1)), ':', 2, 3);
    if (!clock || !is_time_of_day(*clock)) return not_a_time(text);
    const auto base = static_cast<std::time_t>(latest);
    std::tm at{};
    universal ? ::gmtime_r(&base, &at) : ::localtime_r(&base, &at);
    if (!day.empty()) {
        const auto date = numbers(day, '-', 3, 3);
        if (!date || (*date)[0] < 1970 || (*date)[1] < 1 || (*date)[1] > 12 || (*date)[2] < 1 || (*date)[2] > 31)
            return not_a_time(text);
        at.tm_year = (*date)[0] - 1900;
        at.tm_mon = (*date)[1] - 1;
        at.tm_mday = (*date)[2];
    }
    at.tm_hour = (*clock)[0];
    at.tm_min = (*clock)[1];
    at.tm_sec = clock->size() == 3 ? (*clock)[2] : 0;
    at.tm_isdst = -1;
    const auto seconds = static_cast<double>(universal ? ::timegm(&at) : ::mktime(&at));
    // If a clock change makes the day 23 or 25 hours long, the result is wrong by an hour at most.
    return day.empty() && seconds > latest ? seconds - kDay : seconds;
}

}  // namespace memscope
