#include "analysis/limits.h"

#include "analysis/forecast.h"

namespace memscope {
namespace {

constexpr std::string_view kOwn = "own";

}  // namespace

void Limits::add(Seconds now, const std::vector<LimitCandidate>& candidates) {
    std::erase_if(judges_, [&](const auto& judge) {
        return std::ranges::none_of(candidates, [&](const LimitCandidate& c) { return c.owner == judge.first; });
    });
    for (const LimitCandidate& candidate : candidates)
        if (candidate.owner != kOwn)
            judges_.try_emplace(candidate.owner, JudgeSettings{.warmup = warmup_})
                .first->second.add(now, candidate.held);
}

std::optional<Limits::First> Limits::first(const Judgement& own, const std::vector<LimitCandidate>& candidates) const {
    auto nearest = nearest_limit(candidates);
    if (!nearest) return std::nullopt;
    First first{std::move(*nearest), {}};
    for (const LimitCandidate& candidate : candidates) {
        const auto judge = judges_.find(candidate.owner);
        if (candidate.owner != kOwn && judge == judges_.end()) continue;
        const Judgement& held = candidate.owner == kOwn ? own : judge->second.latest();
        const auto expected = forecast(held, candidate.limit);
        // What others do since we began to look is no warm-up of theirs: only the target has a start that we know.
        if (expected && expected->basis == Forecast::Basis::warmup && candidate.owner != kOwn &&
            own.verdict != Verdict::warming_up)
            continue;
        if (!expected || (first.forecast && first.forecast->eta <= expected->eta)) continue;
        first = {{candidate.owner, candidate.limit, candidate.limit - candidate.held}, expected};
    }
    return first;
}

}  // namespace memscope
