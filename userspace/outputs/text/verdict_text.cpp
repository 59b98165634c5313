#include "outputs/text/verdict_text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "analysis/verdict/forecast.h"
#include "analysis/verdict/verdict_sentence.h"

namespace memscope {
namespace {

constexpr Seconds kEarliestDate(1e9);  // the year 2001; a smaller time does not count from 1970

std::string per_hour(double bytes_per_second) {
    constexpr double kMost = 1.8e19;  // below the largest 64-bit number
    const Bytes size{static_cast<std::uint64_t>(std::min(std::abs(bytes_per_second) * 3600, kMost))};
    return (bytes_per_second < 0 ? "-" : "+") + human_size(size) + "/h";
}

std::string range(const Forecast& expected) {
    const std::string earliest = human_duration(expected.earliest);
    if (!expected.latest) return fmt::format("{} (at the earliest {})", human_duration(expected.eta), earliest);
    return fmt::format("{} ({} to {})", human_duration(expected.eta), earliest, human_duration(*expected.latest));
}

}  // namespace

std::string verdict_text(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit) {
    if (judgement.verdict == Verdict::insufficient)
        return fmt::format("{}: the series has {} {} in {}, record it for longer\n", phrase(judgement.verdict),
                           judgement.samples, judgement.samples == 1 ? "sample" : "samples",
                           human_duration(judgement.until - judgement.since));
    std::string text = fmt::format("{}: {}\n", phrase(judgement.verdict), verdict_sentence(judgement, began, limit));
    const auto line = [&](const char* name, const std::string& value) {
        text += fmt::format("  {:<12}{}\n", name, value);
    };
    const auto at = [&](const char* name, const std::optional<Seconds>& time) {
        if (!time) return;
        const bool first = *time == began;
        const std::string since = first ? "the start" : human_duration(*time - began) + " after the start";
        // Users cannot read seconds since 1970, so these are left out.
        line(name, *time < kEarliestDate ? fmt::format("{:.0f} s ({})", time->count(), since) : since);
    };
    line("confidence", fmt::format("{:.0f} %", judgement.confidence * 100));
    line("floor", human_size(judgement.floor) + ", " + per_hour(judgement.floor_slope));
    line("peak", human_size(judgement.peak));
    if (judgement.spike)
        line("spikes", fmt::format("{} about every {}", human_size(judgement.spike->height),
                                   human_duration(judgement.spike->period)));
    at("restarted", judgement.restarted);
    at("warmed up", judgement.warmup_ended);
    at("leaks since", judgement.leak_started);
    if (limit)
        if (const auto expected = forecast(judgement, *limit)) line("limit in", range(*expected));
    return text;
}

}  // namespace memscope
