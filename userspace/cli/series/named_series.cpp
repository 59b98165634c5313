#include "cli/series/named_series.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/series/sample_text.h"

namespace memscope {
namespace {

constexpr std::size_t kMostSeries = 1000;
constexpr std::size_t kMostSamples = 2'000'000;
constexpr std::size_t kMostListed = 10;
constexpr std::size_t kLongestListed = 120;  // the name of a process can be a long command line

// The name for a list of series in a message. Long enough for the labels that distinguish series of Prometheus.
std::string listed_name(const std::string& name) {
    std::size_t end = std::min(name.size(), kLongestListed);
    while (end > 0 && end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80) --end;
    return fmt::format("'{}{}'", printable(name.substr(0, end)), end < name.size() ? "..." : "");
}

}  // namespace

Error wrong_line(std::size_t number, std::string_view what, std::string_view line) {
    return plain_error(fmt::format("line {}: {}: '{}'", number, what, shortened(line)));
}

Status NamedSeries::add(const std::string& name, double time, double bytes, std::size_t line_number,
                        std::string_view line) {
    if (!std::isfinite(time) || std::abs(time) > kLargestTime)
        return wrong_line(line_number, "the time is out of range", line);
    if (!std::isfinite(bytes) || bytes < 0 || bytes > kLargestSize)
        return wrong_line(line_number, "the size is out of range", line);
    auto found = series_.find(name);
    if (found == series_.end()) {
        if (series_.size() >= kMostSeries)
            return wrong_line(line_number, fmt::format("more than {} series", kMostSeries), line);
        found = series_.emplace(name, std::vector<Sample>{}).first;
    }
    if (!found->second.empty() && time < found->second.back().time)
        return wrong_line(line_number, "the time is before that of the sample before it", line);
    if (++samples_ > kMostSamples)
        return wrong_line(line_number, fmt::format("more than {} samples", kMostSamples), line);
    found->second.push_back({time, static_cast<std::uint64_t>(bytes)});
    return Done{};
}

Status NamedSeries::pass_on(const std::optional<std::string>& wanted, std::string_view option,
                            const TakeSample& take) const {
    const auto listed = [&](const auto& fits) {
        std::vector<std::string> names;
        std::size_t all = 0;
        for (const auto& [name, samples] : series_)
            if (fits(name) && ++all <= kMostListed) names.push_back(listed_name(name));
        return fmt::format("{}{}", fmt::join(names, ", "),
                           all > kMostListed ? fmt::format(" and {} more", all - kMostListed) : "");
    };
    const auto contains = [&](const std::string& name) { return !wanted || name.find(*wanted) != std::string::npos; };
    auto chosen = wanted ? series_.find(*wanted) : series_.end();
    if (chosen == series_.end()) {
        std::size_t fitting = 0;
        for (auto it = series_.begin(); it != series_.end(); ++it)
            if (contains(it->first) && ++fitting == 1) chosen = it;
        if (fitting > 1)
            return plain_error(wanted ? fmt::format("'{}' fits {} series", shortened(*wanted), fitting)
                                      : fmt::format("has {} series", fitting),
                               fmt::format("choose one with {}: {}", option, listed(contains)));
        if (fitting == 0 && !series_.empty())
            return plain_error(fmt::format("has no series '{}'", shortened(*wanted)),
                               fmt::format("{} is one of: {}", option, listed([](const auto&) { return true; })));
    }
    if (chosen == series_.end()) return plain_error("has no samples");
    for (const Sample& sample : chosen->second) take(Seconds(sample.time), Bytes{sample.bytes});
    return Done{};
}

}  // namespace memscope
