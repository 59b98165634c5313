#include "analysis/limits.h"

#include <algorithm>

#include "analysis/forecast.h"

namespace memscope {
namespace {

constexpr std::string_view kOwn = "own";
constexpr double kMost = 0.5;                             // of the growth below a limit
constexpr Seconds kFreshAfter = std::chrono::minutes(2);  // a verdict needs that long
constexpr double kSpikesVary = 0.1;                       // of their height
constexpr double kTopsVary = 0.03;                        // of the level

double rate_of(const Judgement& judgement) {
    const bool grows = judgement.verdict == Verdict::leaking || judgement.verdict == Verdict::warming_up;
    return grows ? std::max(judgement.floor_slope, 0.0) : 0;
}

double share(double part, double whole) { return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0; }

// The target's part in what is foreseen for the limit of somebody else.
double own_share(const Forecast& forecast, const Judgement& held, const Judgement& own) {
    if (forecast.basis != Forecast::Basis::spike) return share(rate_of(own), forecast.rate);
    return own.spike ? share(static_cast<double>(own.spike->height.n), static_cast<double>(held.spike->height.n)) : 0;
}

// A judgement of the time before somebody was gone, and too early after it to be about anything else.
bool is_of_before(const std::optional<Seconds>& ended, const Judgement& judgement) {
    return ended && judgement.since < *ended && judgement.until < *ended + kFreshAfter;
}

// The top of the spikes that a judgement knows.
std::optional<double> top_of_spikes(const Judgement& judgement, Seconds now) {
    if (!judgement.spike) return std::nullopt;
    const double passed = std::max((now - judgement.until).count(), 0.0);
    return static_cast<double>(judgement.floor.n) + rate_of(judgement) * passed +
           (1 + kSpikesVary) * static_cast<double>(judgement.spike->height.n);
}

// The level from which memory came back twice, before a judgement knows spikes.
std::optional<double> top_of_returns(const ReturnedTops& tops) {
    const auto usual = tops.usual();
    return usual ? std::optional((1 + kTopsVary) * static_cast<double>(usual->n)) : std::nullopt;
}

// A rise to a usual top is no news, where that top stays below the limit.
bool is_usual(const LimitCandidate& candidate, const std::optional<double>& top) {
    return top && *top < static_cast<double>(candidate.limit.n) && static_cast<double>(candidate.held.n) <= *top;
}

}  // namespace

void Limits::add(Seconds now, const std::vector<LimitCandidate>& candidates, Bytes own) {
    std::erase_if(tracks_, [&](const auto& track) {
        return std::ranges::none_of(candidates, [&](const LimitCandidate& c) { return c.owner == track.first; });
    });
    own_.add(now, own);
    for (const LimitCandidate& candidate : candidates) {
        Track& track =
            tracks_.try_emplace(candidate.owner, Track{Judge(JudgeSettings{.warmup = warmup_})}).first->second;
        track.trend.add(now, candidate.held);
        track.tops.add(now, candidate.held);
        if (candidate.owner != kOwn) track.judge.add(now, candidate.held);
    }
}

void Limits::job_ended(Seconds now, const Judgement& own) {
    own_.clear();
    for (auto& [owner, track] : tracks_) {
        if (owner != kOwn && share(rate_of(own), rate_of(track.judge.latest())) < kMost) continue;
        track.ended = now;
        track.trend.clear();
        track.tops.clear();
    }
}

std::optional<Forecast> Limits::judged(Seconds now, const Track& track, const Judgement& own,
                                       const LimitCandidate& candidate) const {
    const bool is_own = candidate.owner == kOwn;
    const Judgement& held = is_own ? own : track.judge.latest();
    if (is_of_before(track.ended, held)) return std::nullopt;
    auto expected = forecast_at(held, candidate.limit, now, candidate.held);
    if (!expected || is_own) return expected;
    // Only the target has a start that is known. Others may have been there for long when watching began, and what they
    // did since then is no warm-up.
    if (expected->basis == Forecast::Basis::warmup && own.verdict != Verdict::warming_up) return std::nullopt;
    expected->own_share = own_share(*expected, held, own);
    return expected;
}

std::optional<Forecast> Limits::trend(Seconds now, const Track& track, const Judgement& own,
                                      const LimitCandidate& candidate) const {
    const EffectiveLimit limit = as_limit(candidate);
    if (limit.held_share() <= trend_.held) return std::nullopt;
    const bool is_own = candidate.owner == kOwn;
    const Judgement& held = is_own ? own : track.judge.latest();
    if (is_usual(candidate, top_of_spikes(held, now)) || is_usual(candidate, top_of_returns(track.tops)))
        return std::nullopt;
    const auto rise = track.trend.reaching(limit.headroom, trend_.horizon);
    if (!rise) return std::nullopt;
    const Seconds eta(static_cast<double>(limit.headroom.n) / rise->rate);
    constexpr double kFaster = 1.5;
    return Forecast{.eta = eta,
                    .earliest = eta / kFaster,
                    .basis = Forecast::Basis::trend,
                    .rate = rise->rate,
                    .own_share = is_own ? 1 : share(own_.mean_rate(rise->window), rise->rate)};
}

std::vector<Forecast> Limits::foresee(Seconds now, const Judgement& own,
                                      const std::vector<LimitCandidate>& candidates) const {
    std::vector<Forecast> all;
    for (const LimitCandidate& candidate : candidates) {
        const auto track = tracks_.find(candidate.owner);
        if (track == tracks_.end()) continue;
        auto expected = judged(now, track->second, own, candidate);
        const auto soon = trend(now, track->second, own, candidate);
        // A leak that says nearly the same stays: alerts ask for its basis, and one that alternates would interrupt
        // them.
        const double clearly = expected && expected->basis != Forecast::Basis::warmup ? 0.5 : 1;
        if (soon && (!expected || soon->eta < clearly * expected->eta)) expected = soon;
        if (!expected) continue;
        expected->limit = as_limit(candidate);
        all.push_back(*std::move(expected));
    }
    std::ranges::stable_sort(all, {}, &Forecast::eta);
    return all;
}

}  // namespace memscope
