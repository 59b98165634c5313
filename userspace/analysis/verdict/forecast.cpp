#include "analysis/verdict/forecast.h"

#include <algorithm>
#include <cmath>

namespace memscope {
namespace {

using Basis = Forecast::Basis;

constexpr Seconds kNever = std::chrono::years(1);  // a rate that needs longer than this gives no forecast

// The limit is reached by the first step that crosses it.
Forecast after_steps(const LeakSteps& steps, double room, Seconds until) {
    const double needed = std::max(1.0, std::ceil(room / std::max(steps.height, 1.0)));
    const Seconds since_last = until - steps.last;
    const Seconds eta = std::max(needed * steps.period - since_last, Seconds(0));
    const Seconds slack = 0.15 * needed * steps.period;
    return {.eta = eta,
            .earliest = std::max(eta - slack, Seconds(0)),
            .latest = eta + slack,
            .basis = Basis::leak,
            .rate = steps.height / std::max(steps.period.count(), 1e-9)};
}

// The time until the first spike that starts when the floor is high enough for the spike to cross the limit.
Seconds until_spike(const Judgement& judgement, Seconds crossing) {
    const Seconds period = judgement.spike->period;
    if (!judgement.last_spike || period <= Seconds(0)) return crossing;
    const Seconds since_last = judgement.until - *judgement.last_spike;
    const double n = std::max(1.0, std::ceil((crossing + since_last) / period));
    return std::max(n * period - since_last, Seconds(0));
}

Forecast at_a_rate(const Judgement& judgement, double room) {
    const double rate = judgement.floor_slope;
    const bool leak = judgement.verdict == Verdict::leaking;
    // The rate of a warm-up is not reliable, because the growth may become faster or end.
    const double doubt = leak ? std::clamp(2 * judgement.floor_slope_error / rate, 0.05, 0.5) : 0.3;
    Seconds eta{room / rate};
    Forecast forecast{
        .eta = eta, .earliest = eta / (1 + doubt), .latest = eta / (1 - doubt), .basis = Basis::leak, .rate = rate};
    if (judgement.spike) {
        // The limit is crossed by the first spike after `eta`. If no spike comes, the floor itself reaches the limit.
        eta = std::min(until_spike(judgement, eta), Seconds((room + judgement.overhang) / rate));
        forecast.eta = eta;
        forecast.latest = std::max(eta, *forecast.latest) + judgement.spike->period / 2;
    }
    if (!leak) {
        forecast.basis = Basis::warmup;
        forecast.latest.reset();
    }
    return forecast;
}

std::optional<Forecast> next_spike(const Judgement& judgement, double room) {
    if (!judgement.spike || room > 0) return std::nullopt;
    const Seconds period = judgement.spike->period;
    const Seconds since_last = judgement.until - judgement.last_spike.value_or(judgement.until);
    const Seconds eta = std::max(period - since_last, Seconds(0));
    return Forecast{.eta = eta, .earliest = eta / 2, .latest = eta + period, .basis = Basis::spike};
}

bool grows(const Judgement& judgement) {
    return (judgement.verdict == Verdict::leaking || judgement.verdict == Verdict::warming_up) &&
           judgement.floor_slope > 0;
}

// `last_spike` is as old as the judgement. If the next spike is overdue by a quarter of the period, it was missed or
// did not come, so the forecast uses the spike after it.
void skip_missed_spikes(Judgement& judgement) {
    constexpr double kOverdue = 1.25;  // periods
    if (!judgement.spike || !judgement.last_spike || judgement.spike->period <= Seconds(0)) return;
    const double periods = (judgement.until - *judgement.last_spike) / judgement.spike->period;
    *judgement.last_spike += std::max(0.0, std::ceil(periods - kOverdue)) * judgement.spike->period;
}

}  // namespace

std::optional<Forecast> forecast(const Judgement& judgement, Bytes limit) {
    if (judgement.verdict == Verdict::insufficient) return std::nullopt;
    const double room = static_cast<double>(limit.n) - static_cast<double>(judgement.floor.n) - judgement.overhang;
    if (!grows(judgement)) return next_spike(judgement, room);
    if (judgement.steps) return after_steps(*judgement.steps, std::max(room, 0.0), judgement.until);
    return at_a_rate(judgement, std::max(room, 0.0));
}

std::optional<Forecast> forecast_at(Judgement judgement, Bytes limit, Seconds now, Bytes held) {
    const Seconds passed = std::max(now - judgement.until, Seconds(0));
    const bool at_rate = grows(judgement) && !judgement.steps;
    if (at_rate) {
        // Assume that the floor rose at its rate since the judgement. If the series is lower than that, growth has
        // slowed down or memory was freed, so use the lower value.
        const double risen = static_cast<double>(judgement.floor.n) + judgement.floor_slope * passed.count();
        if (risen < static_cast<double>(held.n))
            judgement.floor = Bytes{static_cast<std::uint64_t>(risen)};
        else
            judgement.floor = held;
    }
    judgement.until += passed;
    skip_missed_spikes(judgement);
    auto aged = forecast(judgement, limit);
    if (!aged || aged->eta > kNever) return std::nullopt;
    if (!at_rate) return aged;
    const Seconds most(static_cast<double>((limit - held).n) / judgement.floor_slope);
    if (aged->eta > most) {
        aged->eta = most;
        aged->earliest = std::min(aged->earliest, most);
    }
    return aged;
}

}  // namespace memscope
