#include "analysis/verdict/verdict_sentence.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace memscope {
namespace {

Bytes whole(double bytes) {
    constexpr double kMost = 1.8e19;  // bytes: below the largest 64-bit number
    return {static_cast<std::uint64_t>(std::clamp(std::round(bytes), 0.0, kMost))};
}

std::string rate(double bytes_per_second) { return human_rate(bytes_per_second); }

std::string until_limit(const Judgement& judgement, const Circumstances& known) {
    if (!known.expected || !known.limit) return {};
    const auto& [limit, expected, advice] = known;
    const std::string reached = expected->eta > Seconds(0) ? "in " + human_duration(expected->eta) : "now";
    if (expected->basis == Forecast::Basis::spike)
        return fmt::format("; the next spike would cross the limit of {}, {}", human_size(*limit), reached);
    if (judgement.spike)
        return fmt::format("; at this rate a spike crosses the limit of {} {}", human_size(*limit), reached);
    if (expected->eta <= Seconds(0)) return fmt::format("; it is at the limit of {}", human_size(*limit));
    return fmt::format("; at this rate the limit of {} is reached {}", human_size(*limit), reached);
}

// "the job was restarted 5 times, and each of the last runs leaked 4.0 GiB/h and died at the limit of 15 GiB after ..."
std::string loop_text(const RestartLoop& loop, const std::optional<Bytes>& limit) {
    constexpr double kNear = 0.9;  // of the limit
    const bool at_limit = limit && static_cast<double>(loop.top.n) >= kNear * static_cast<double>(limit->n);
    const std::string end =
        at_limit ? fmt::format("died at the limit of {}", human_size(*limit)) : "ended at " + human_size(loop.top);
    const std::string after = "after about " + human_duration(loop.length);
    std::string text = fmt::format("the job was restarted {} times", loop.restarts);
    if (loop.all_leaked)
        return text + fmt::format(", and each of the last runs leaked {} and {} {}", rate(loop.slope), end, after);
    if (loop.all_settled)
        return text + fmt::format(", and each of the last runs reached a plateau, at most {}, and ended {}",
                                  human_size(loop.top), after);
    return text + fmt::format(", and the last runs ended at {} {} (medians)", human_size(loop.top), after);
}

std::string leaking(const Judgement& judgement, Seconds began, const std::string& eta,
                    const std::optional<std::string>& advice) {
    const Seconds since = judgement.leak_started.value_or(judgement.since);
    const std::string when = since - began < Seconds(1) ? "its start" : human_duration(since - began);
    if (judgement.loop && judgement.loop->decides)
        return fmt::format(
            "this run is too short for a verdict of its own and does not differ from the earlier runs so far{}: {}",
            eta, advice.value_or("find the objects that the job keeps from one step to the next"));
    if (judgement.doubt == Doubt::decelerating)
        return fmt::format(
            "the floor still rises after more than three times the warm-up of {}, but more and more slowly (it is {} "
            "now and rises by {}){}: {}",
            human_duration(judgement.warmup), human_size(judgement.floor), rate(judgement.floor_slope), eta,
            advice.value_or(
                "if a cache is filling, set a longer --warmup; if not, find the objects that the job keeps"));
    if (judgement.steps)
        return fmt::format(
            "the floor has risen in {} steps of about {}, one every {}, since {}, and is now {}{}: {}",
            judgement.steps->count, human_size(whole(judgement.steps->height)), human_duration(judgement.steps->period),
            when, human_size(judgement.floor), eta,
            advice.value_or(
                "find the objects that the job keeps from one validation, checkpoint or epoch to the next"));
    return fmt::format("the floor has risen steadily by {} since {} ({} in {}) and is now {}{}: {}",
                       rate(judgement.floor_slope), when, human_size(whole(judgement.rise)),
                       human_duration(judgement.until - since), human_size(judgement.floor), eta,
                       advice.value_or("find the objects that the job keeps from one step to the next"));
}

std::string warming_up(const Judgement& judgement, const std::string& eta) {
    const std::string elapsed = human_duration(judgement.until - judgement.since);
    if (judgement.doubt == Doubt::decelerating)
        return fmt::format(
            "memory grows more and more slowly, now by {}, and has not reached a plateau after {}{}: growth that slows "
            "down is not called a leak within three times --warmup ({})",
            rate(judgement.floor_slope), elapsed, eta, human_duration(judgement.warmup));
    if (judgement.steady)
        return fmt::format(
            "memory grew at a constant rate of {} for {} and gave nothing back{}: a warm-up usually slows down, so "
            "find the objects that the job keeps from one step to the next; growth within the first {} (--warmup) is "
            "not called a leak yet",
            rate(judgement.floor_slope), elapsed, eta, human_duration(judgement.warmup));
    return fmt::format(
        "memory has grown by {} since the start, now by {}, and has not reached a plateau after {}{}: growth within "
        "the first {} (--warmup) is not called a leak yet",
        human_size(whole(judgement.rise)), rate(judgement.floor_slope), elapsed, eta, human_duration(judgement.warmup));
}

std::string flat(const Judgement& judgement, const std::string& eta) {
    if (judgement.loop && judgement.loop->decides)
        return fmt::format("this run holds {} so far, not more than the earlier runs{}: no leak",
                           human_size(judgement.floor), eta);
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

std::string verdict_sentence(const Judgement& judgement, Seconds began, const std::optional<Bytes>& limit) {
    return verdict_sentence(
        judgement, began,
        Circumstances{.limit = limit, .expected = limit ? forecast(judgement, *limit) : std::nullopt});
}

std::string verdict_sentence(const Judgement& judgement, Seconds began, const Circumstances& known) {
    const std::string eta = until_limit(judgement, known);
    std::string text;
    switch (judgement.verdict) {
        case Verdict::insufficient:
            text = "there are too few samples for a verdict yet: wait a few minutes";
            break;
        case Verdict::warming_up:
            text = warming_up(judgement, eta);
            break;
        case Verdict::stable:
        case Verdict::spiky:
            text = flat(judgement, eta);
            break;
        case Verdict::leaking:
            text = leaking(judgement, began, eta, known.advice);
            break;
    }
    if (judgement.loop)
        text = loop_text(*judgement.loop, known.limit) + "; " + text;
    else if (judgement.restarted)
        text = fmt::format("since {} at {}, {}", judgement.only_fell ? "memory fell" : "the restart",
                           human_duration(*judgement.restarted - began), text);
    text[0] = text[0] >= 'a' && text[0] <= 'z' ? static_cast<char>(text[0] - 'a' + 'A') : text[0];
    return text + ".";
}

}  // namespace memscope
