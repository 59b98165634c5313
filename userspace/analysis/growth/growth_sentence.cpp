#include "analysis/growth/growth_sentence.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

std::string size_text(std::int64_t bytes) {
    return human_size(Bytes{static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0))});
}

// "9 min 40 s": with seconds, because a snapshot is up to half a minute from the time that was requested.
std::string exact_duration(Seconds time) {
    const auto seconds = static_cast<std::uint64_t>(std::llround(std::max(time.count(), 0.0)));
    if (seconds < 60) return fmt::format("{} s", seconds);
    if (seconds >= 3600) {
        const std::uint64_t minutes = (seconds + 30) / 60;
        if (minutes % 60 == 0) return fmt::format("{} h", minutes / 60);
        return fmt::format("{} h {} min", minutes / 60, minutes % 60);
    }
    if (seconds % 60 == 0) return fmt::format("{} min", seconds / 60);
    return fmt::format("{} min {} s", seconds / 60, seconds % 60);
}

// "than 10 min ago"
std::string than_text(const GrowthSpan& span) {
    if (!span.since) return "than when watching began";
    if (span.after_warmup) return fmt::format("than at the end of the warm-up {} ago", exact_duration(*span.since));
    return fmt::format("than {} ago", exact_duration(*span.since));
}

std::string trend_text(const LineTrend& trend) {
    if (trend.grew == 0) return fmt::format("it did not grow in the last {} minutes", trend.minutes);
    if (trend.grew == trend.minutes) return fmt::format("it grew in each of the last {} minutes", trend.minutes);
    return fmt::format("it grew in {} of the last {} minutes", trend.grew, trend.minutes);
}

}  // namespace

std::string span_text(const GrowthSpan& span, double now) {
    std::string text = "since watching began";
    if (span.since)
        text = span.after_warmup ? fmt::format("since the end of the warm-up {} ago", exact_duration(*span.since))
                                 : fmt::format("since {} ago", exact_duration(*span.since));
    if (!span.peak) return text;
    const double ago = now - *span.peak;
    const std::string when = ago < 1 ? "which is now" : exact_duration(Seconds{ago}) + " ago";
    return fmt::format("{}, as it was at the peak ({})", text, when);
}

std::string growth_sentence(const Ownership& ownership, const GrowthSpan& span, const std::optional<LineTrend>& trend) {
    const std::string grown = size_text(ownership.grown);
    const std::string verb = span.peak ? "kept at the peak" : "keeps";
    const bool no_line = ownership.reason == Ownership::Reason::recycled ||
                         ownership.reason == Ownership::Reason::no_line ||
                         ownership.reason == Ownership::Reason::first_touch;
    // Censuses compare the present with an earlier time, so they do not explain growth at the peak.
    if (no_line && !span.peak && !ownership.holders.empty())
        return fmt::format("{} more is held {}. {}", grown, than_text(span), ownership.holders);
    switch (ownership.reason) {
        case Ownership::Reason::known: {
            const GrowthOwner& owner = *ownership.owner;
            std::string text =
                fmt::format("{} {} {} more {}", printable(owner.place), verb, size_text(owner.bytes), than_text(span));
            if (owner.share < 0.5) text += fmt::format(" ({:.0f} % of what grew)", 100 * owner.share);
            if (trend && !span.peak) text += "; " + trend_text(*trend);
            return text + ".";
        }
        case Ownership::Reason::little:
            return fmt::format("Less than {} more is held {}.", size_text(ownership.little), than_text(span));
        case Ownership::Reason::recycled:
            return fmt::format(
                "{} more {} held {}: most of it is recycled by malloc, so the line that touched it first is not the "
                "owner: `memscope heap` shows what is live and what is free.",
                grown, span.peak ? "was" : "is", than_text(span));
        case Ownership::Reason::no_line:
            return fmt::format(
                "{} more {} held {}, and memscope does not know which line keeps it: the line that touched memory "
                "first need not be the owner. `memscope heap` shows what is live and what is free.",
                grown, span.peak ? "was" : "is", than_text(span));
        case Ownership::Reason::first_touch:
            return fmt::format(
                "{} more {} held {}, and memscope does not know which line keeps it: this kernel shows only first "
                "touches, and frees are not matched to them. `memscope heap` shows what is live and what is free.",
                grown, span.peak ? "was" : "is", than_text(span));
        case Ownership::Reason::not_measured:
            return "Which line keeps memory is not known with --no-maps.";
    }
    return {};
}

}  // namespace memscope
