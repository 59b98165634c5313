#include "analysis/explain.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace memscope {
namespace {

Bytes whole(double bytes) {
    constexpr double kMost = 1.8e19;  // what 64 bits hold
    return {static_cast<std::uint64_t>(std::clamp(std::round(bytes), 0.0, kMost))};
}

// "1.0 GiB/h", "540 MiB/min": whichever unit a person can picture.
std::string rate(double bytes_per_second) {
    constexpr double kFast = 10.0 * (1U << 30U);  // per hour
    const double size = std::abs(bytes_per_second);
    const char* sign = bytes_per_second < 0 ? "-" : "";
    if (size * 3600 > kFast) return fmt::format("{}{}/min", sign, human_size(whole(size * 60)));
    return fmt::format("{}{}/h", sign, human_size(whole(size * 3600)));
}

std::string until_limit(const Judgement& judgement, const std::optional<Bytes>& limit) {
    if (!limit) return {};
    const auto expected = forecast(judgement, *limit);
    if (!expected) return {};
    const std::string reached = expected->eta > Seconds(0) ? "in " + human_duration(expected->eta) : "now";
    if (expected->basis == Forecast::Basis::spike)
        return fmt::format("; the next spike would cross the limit of {}, {}", human_size(*limit), reached);
    return fmt::format("; at this rate{} the limit of {} is reached {}", judgement.spike ? " a spike over" : "",
                       human_size(*limit), reached);
}

std::string leaking(const Judgement& judgement, Seconds began, const std::string& eta,
                    const std::optional<std::string>& advice) {
    const Seconds since = judgement.leak_started.value_or(judgement.since);
    const std::string when = since - began < Seconds(1) ? "its start" : human_duration(since - began);
    if (judgement.doubt == Doubt::decelerating)
        return fmt::format(
            "the floor still rises after more than three times the warm-up of {}, though ever more slowly ({} now "
            "{}){}: {}",
            human_duration(judgement.warmup), human_size(judgement.floor), rate(judgement.floor_slope), eta,
            advice.value_or(
                "if a cache is filling, allow for it with a longer --warmup; if not, look at what is kept"));
    if (judgement.steps)
        return fmt::format(
            "the floor has risen in {} steps of about {}, one every {}, since {}, and is now {}{}: {}",
            judgement.steps->count, human_size(whole(judgement.steps->height)), human_duration(judgement.steps->period),
            when, human_size(judgement.floor), eta,
            advice.value_or("look at what is kept from one validation, checkpoint or epoch to the next"));
    return fmt::format("the floor has risen steadily by {} since {} ({} in {}) and is now {}{}: {}",
                       rate(judgement.floor_slope), when, human_size(whole(judgement.rise)),
                       human_duration(judgement.until - since), human_size(judgement.floor), eta,
                       advice.value_or("look at what is kept from step to step"));
}

std::string warming_up(const Judgement& judgement, const std::string& eta) {
    const Seconds elapsed = judgement.until - judgement.since;
    if (judgement.doubt == Doubt::decelerating)
        return fmt::format(
            "memory grows ever more slowly, by {} now, and has reached no plateau after {}{}: a warm-up that slows "
            "down "
            "is given three times --warmup {}, so wait, or say how long it may take with --warmup",
            rate(judgement.floor_slope), human_duration(elapsed), eta, human_duration(judgement.warmup));
    return fmt::format(
        "memory has grown by {} since the start, by {} now, and no plateau is seen after {} of the {} that a warm-up "
        "may "
        "take (--warmup){}: too early to call it a leak, wait for the plateau",
        human_size(whole(judgement.rise)), rate(judgement.floor_slope), human_duration(elapsed),
        human_duration(judgement.warmup), eta);
}

std::string flat(const Judgement& judgement, const std::string& eta) {
    const Seconds flat_for = judgement.until - judgement.warmup_ended.value_or(judgement.since);
    const std::string after =
        judgement.warmup_ended
            ? fmt::format(" after a warm-up of {}", human_duration(*judgement.warmup_ended - judgement.since))
            : "";
    if (judgement.verdict == Verdict::spiky && judgement.spike)
        return fmt::format(
            "the floor is flat at {} for {}{}, under spikes of {} about every {}{}: no leak, but leave "
            "room for {}",
            human_size(judgement.floor), human_duration(flat_for), after, human_size(judgement.spike->height),
            human_duration(judgement.spike->period), eta,
            human_size(std::max(judgement.floor + judgement.spike->height, judgement.room)));
    return fmt::format("the floor is flat at {} for {}{}{}: no leak", human_size(judgement.floor),
                       human_duration(flat_for), after, eta);
}

}  // namespace

std::string explain(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit,
                    const std::optional<std::string>& advice) {
    const std::string eta = until_limit(judgement, limit);
    std::string text;
    switch (judgement.verdict) {
        case Verdict::insufficient:
            text = "it is too early to say anything: wait for some minutes";
            break;
        case Verdict::warming_up:
            text = warming_up(judgement, eta);
            break;
        case Verdict::stable:
        case Verdict::spiky:
            text = flat(judgement, eta);
            break;
        case Verdict::leaking:
            text = leaking(judgement, began, eta, advice);
            break;
    }
    if (judgement.restarted)
        return fmt::format("Since the restart at {}, {}.", human_duration(*judgement.restarted - began), text);
    text[0] = text[0] >= 'a' && text[0] <= 'z' ? static_cast<char>(text[0] - 'a' + 'A') : text[0];
    return text + ".";
}

}  // namespace memscope
