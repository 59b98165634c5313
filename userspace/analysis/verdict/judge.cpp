#include "analysis/verdict/judge.h"

#include <algorithm>

namespace memscope {
namespace {

std::optional<Seconds> moved(const std::optional<Seconds>& time, Seconds by) {
    return time ? std::optional(*time + by) : std::nullopt;
}

}  // namespace

void Judge::add(Seconds time, Bytes bytes) {
    series_.add(time, bytes);
    const double length = series_.length();
    if (length < next_) return;
    judgement_ = hysteresis_.settle(judge(series_, settings_), series_, settings_.evidence.restarts.has_value());
    const double budget = settings_.warmup.count();
    constexpr double kMostJudgements = 1500;  // per series, so that a file of weeks is judged in seconds
    next_ = length + std::max(std::clamp(length / 64, budget / 120, budget / 20), length / kMostJudgements);
}

namespace {

void add_time(std::vector<Seconds>& times, Seconds at) {
    constexpr std::size_t kMost = 32;  // older ones do not affect the verdict
    if (times.size() == kMost) times.erase(times.begin());
    times.push_back(at);
}

}  // namespace

void Judge::restart(Seconds at) {
    auto& restarts = settings_.evidence.restarts;
    if (!restarts) restarts.emplace();
    add_time(*restarts, at);
    next_ = series_.length();  // judge at the next sample, because the old verdict is about the run that ended
}

void Judge::oom_killed(Seconds at) { add_time(settings_.evidence.oom_kills, at); }

Judgement Judge::now() const {
    VerdictHysteresis hysteresis = hysteresis_;  // a copy, because now() must not change the state
    return hysteresis.settle(judge(series_, settings_), series_, settings_.evidence.restarts.has_value());
}

Judgement moved(Judgement judgement, Seconds by) {
    judgement.since += by;
    judgement.until += by;
    judgement.last_spike = moved(judgement.last_spike, by);
    judgement.warmup_ended = moved(judgement.warmup_ended, by);
    judgement.leak_started = moved(judgement.leak_started, by);
    judgement.restarted = moved(judgement.restarted, by);
    if (judgement.steps) judgement.steps->last += by;
    return judgement;
}

}  // namespace memscope
