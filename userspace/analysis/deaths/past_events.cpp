#include "analysis/deaths/past_events.h"

#include <fmt/format.h>

#include "analysis/targets/tick_events.h"

namespace memscope {
namespace {

void add_precursors(const TargetSnapshot* before, const TargetSnapshot& now, double time,
                    std::vector<PastEvent>& events) {
    for (const Precursor* precursor : begun_precursors(before, now))
        events.push_back(
            {precursor->since, "precursor", fmt::format("{}: {}", name_of(precursor->kind), precursor->reason)});
    for (const Precursor* precursor : ended_precursors(before, now))
        events.push_back({time, "precursor", fmt::format("{} is over", name_of(precursor->kind))});
}

Mappings mappings_of(const TargetSnapshot& target, const RoleKey& role) {
    const auto found = target.counters.find(role);
    return found == target.counters.end() ? Mappings{} : found->second.mappings.value_or(Mappings{});
}

void add_failures(const TargetSnapshot& before, const TargetSnapshot& now, double time,
                  std::vector<PastEvent>& events) {
    for (const auto& [role, counters] : now.counters) {
        if (!counters.mappings) continue;
        const Mappings was = mappings_of(before, role);
        for (std::size_t call = 0; call < MS_FAILED_COUNT; ++call)
            for (std::size_t reason = 0; reason < MS_REASON_COUNT; ++reason) {
                const std::uint64_t is = counters.mappings->failures[call][reason];
                if (is <= was.failures[call][reason]) continue;
                events.push_back(
                    {time, "failure",
                     fmt::format("{} failed in a {} ({}), {} time{}", failed_call(call), name_of(role.role),
                                 failure_reason(reason), is - was.failures[call][reason],
                                 is - was.failures[call][reason] == 1 ? "" : "s")});
            }
    }
}

}  // namespace

std::vector<PastEvent> events_between(const TargetSnapshot* before, const TargetSnapshot& now, double time) {
    std::vector<PastEvent> events;
    if (verdict_changed(before, now))
        if (const Verdict is = now.verdict()->judgement.verdict; is != Verdict::insufficient)
            events.push_back({time, "verdict", fmt::format("called {}", word(is))});
    add_precursors(before, now, time, events);
    if (before) add_failures(*before, now, time, events);
    return events;
}

std::vector<PastEvent> events_of_series(const TargetSnapshot& target) {
    std::vector<PastEvent> events;
    const ScopeVerdict* verdict = target.verdict();
    if (!verdict || verdict->judgement.samples == 0) return events;
    const Judgement& judgement = verdict->judgement;
    events.push_back({verdict->began.count(), "start", "watching began"});
    if (judgement.restarted && judgement.only_fell)
        events.push_back({judgement.restarted->count(), "fall", "memory fell back"});
    else if (judgement.restarted)
        events.push_back({judgement.restarted->count(), "restart", "memory fell back: the job restarted"});
    if (judgement.warmup_ended) events.push_back({judgement.warmup_ended->count(), "warm-up", "warm-up ended"});
    if (judgement.leak_started) events.push_back({judgement.leak_started->count(), "leak", "the leak began"});
    return events;
}

}  // namespace memscope
