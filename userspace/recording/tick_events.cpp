#include "recording/tick_events.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace memscope {
namespace {

bool has(const TargetSnapshot& target, PrecursorKind kind) {
    return std::ranges::find(target.precursors, kind, &Precursor::kind) != target.precursors.end();
}

}  // namespace

bool verdict_changed(const TargetSnapshot* before, const TargetSnapshot& now) {
    const ScopeVerdict* verdict = now.verdict();
    const ScopeVerdict* earlier = before ? before->verdict() : nullptr;
    return verdict && (!earlier || earlier->judgement.verdict != verdict->judgement.verdict);
}

std::vector<TickEvent> events_of_tick(const TargetSnapshot* before, const TargetSnapshot& now) {
    std::vector<TickEvent> events;
    if (verdict_changed(before, now)) {
        const ScopeVerdict& verdict = *now.verdict();
        events.push_back({"verdict", fmt::format("{}: {}", word(verdict.judgement.verdict), verdict.explanation)});
    }
    for (const Precursor& precursor : now.precursors)
        if (!before || !has(*before, precursor.kind))
            events.push_back({"precursor", fmt::format("{}: {}", name_of(precursor.kind), precursor.reason)});
    if (before)
        for (const Precursor& precursor : before->precursors)
            if (!has(now, precursor.kind)) events.push_back({"precursor_over", std::string(name_of(precursor.kind))});
    for (const Death& death : now.deaths)
        if (death.news)
            events.push_back({"death", fmt::format("{}: {} {}: {}", name_of(death.cause), death.id.pid,
                                                   printable(death.comm), death.explanation)});
    return events;
}

}  // namespace memscope
