#include "analysis/targets/tick_events.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

// The precursors of `some` that `others` does not have. Null: a target without precursors.
std::vector<const Precursor*> without(const TargetSnapshot* some, const TargetSnapshot* others) {
    std::vector<const Precursor*> found;
    if (!some) return found;
    for (const Precursor& precursor : some->precursors)
        if (!others ||
            std::ranges::find(others->precursors, precursor.kind, &Precursor::kind) == others->precursors.end())
            found.push_back(&precursor);
    return found;
}

}  // namespace

bool verdict_changed(const TargetSnapshot* before, const TargetSnapshot& now) {
    const ScopeVerdict* verdict = now.verdict();
    const ScopeVerdict* earlier = before ? before->verdict() : nullptr;
    return verdict && (!earlier || earlier->judgement.verdict != verdict->judgement.verdict);
}

std::vector<const Precursor*> begun_precursors(const TargetSnapshot* before, const TargetSnapshot& now) {
    return without(&now, before);
}

std::vector<const Precursor*> ended_precursors(const TargetSnapshot* before, const TargetSnapshot& now) {
    return without(before, &now);
}

std::vector<TickEvent> events_of_tick(const TargetSnapshot* before, const TargetSnapshot& now) {
    std::vector<TickEvent> events;
    if (verdict_changed(before, now)) {
        const ScopeVerdict& verdict = *now.verdict();
        events.push_back({"verdict", fmt::format("{}: {}", word(verdict.judgement.verdict), verdict.explanation)});
    }
    for (const Precursor* precursor : begun_precursors(before, now))
        events.push_back({"precursor", fmt::format("{}: {}", name_of(precursor->kind), precursor->reason)});
    for (const Precursor* precursor : ended_precursors(before, now))
        events.push_back({"precursor_over", std::string(name_of(precursor->kind))});
    for (const Death& death : now.deaths)
        if (death.news)
            events.push_back({"death", fmt::format("{}: {} {}: {}", name_of(death.cause), death.id.pid,
                                                   printable(death.comm), death.explanation)});
    return events;
}

}  // namespace memscope
