#include "analysis/forecast.h"

#include <algorithm>
#include <cmath>

namespace memscope {
namespace {

using Basis = Forecast::Basis;

// The limit is reached by the first step that crosses it.
Forecast after_steps(const LeakSteps& steps, double room, Seconds until) {
    const double needed = std::max(1.0, std::ceil(room / std::max(steps.height, 1.0)));
    const Seconds since_last = until - steps.last;
    const Seconds eta = std::max(needed * steps.period - since_last, Seconds(0));
    const Seconds slack = 0.15 * needed * steps.period;
    return {eta, std::max(eta - slack, Seconds(0)), eta + slack, Basis::leak};
}

// The time until a spike stands on a floor that is high enough for it to cross the limit.
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
    // A warm-up has no rate that could be relied on: it may go on faster, and it may end.
    const double doubt = leak ? std::clamp(2 * judgement.floor_slope_error / rate, 0.05, 0.5) : 0.3;
    Seconds eta{room / rate};
    Forecast forecast{eta, eta / (1 + doubt), eta / (1 - doubt), Basis::leak};
    if (judgement.spike) {
        // A spike later, at most, than it could be; and without any spike the floor itself gets there.
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
    return Forecast{eta, eta / 2, eta + period, Basis::spike};
}

}  // namespace

std::optional<Forecast> forecast(const Judgement& judgement, Bytes limit) {
    if (judgement.verdict == Verdict::insufficient) return std::nullopt;
    const double room = static_cast<double>(limit.n) - static_cast<double>(judgement.floor.n) - judgement.overhang;
    const bool grows = judgement.verdict == Verdict::leaking || judgement.verdict == Verdict::warming_up;
    if (!grows || judgement.floor_slope <= 0) return next_spike(judgement, room);
    if (judgement.steps) return after_steps(*judgement.steps, std::max(room, 0.0), judgement.until);
    return at_a_rate(judgement, std::max(room, 0.0));
}

}  // namespace memscope
