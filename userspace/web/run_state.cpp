#include "web/run_state.h"

#include <algorithm>

#include "analysis/deaths/advice.h"
#include "analysis/targets/target_judge.h"
#include "base/text.h"

namespace memscope::web {

void PageSummary::take_peak(double time, Bytes held) {
    if (peak_time != 0 && held < peak) return;
    peak = held;
    peak_time = time;
}

void PageSummary::take_tick(const Snapshot& snapshot, const TargetSnapshot& target) {
    take_peak(snapshot.time, judged_memory(target));
    if (target.memory.peak) kernel_peak = std::max(kernel_peak.value_or(Bytes{}), *target.memory.peak);
    for (const Death& death : target.deaths) {
        if (!death.news) continue;
        if (deaths.size() < kMostDeaths)
            deaths.push_back(death);
        else
            ++more_deaths;
    }
    // After the exit of all processes the series begins again, but the page is about the job that has ended.
    if (target.processes.empty() && judgement) return;
    if (target.memory.effective) {
        limit = target.memory.effective->limit;
        limit_owner = target.memory.effective->owner;
    }
    const ScopeVerdict* verdict = target.verdict();
    if (!verdict) return;
    // After a death the remaining or new processes cannot be judged yet, so the earlier judgement stays.
    if (judgement && !deaths.empty() && verdict->judgement.verdict == Verdict::insufficient) return;
    judgement = verdict->judgement;
    sentence = verdict->explanation;
    series_began = verdict->began.count();
    const bool line_known = verdict->lines && verdict->lines->keeps;
    advice = advice_for_run(target, snapshot.time, line_known ? printable(verdict->lines->most) : std::string(),
                            verdict->lines.has_value(), !target.precursors.empty());
}

PageSummary summary_of(const RunSummary& run) {
    PageSummary summary{.judgement = run.judgement,
                        .sentence = run.explanation,
                        .peak = run.peak.bytes,
                        .peak_time = run.peak.time,
                        .kernel_peak = run.kernel_peak,
                        .limit = run.limit,
                        .limit_owner = run.limit_owner,
                        .advice = run.advice,
                        .deaths = run.deaths,
                        .more_deaths = run.more_deaths};
    const TargetSnapshot* target = run.last_target();
    if (target && target->verdict()) summary.series_began = target->verdict()->began.count();
    return summary;
}

void RunState::add_event(RecordedEvent event) {
    if (event.kind == "report") return;  // the path of a file on the machine that was watched
    event.text.resize(std::min(event.text.size(), kMostEventBytes));
    events.push_back(std::move(event));
    if (events.size() <= kMostEvents) return;
    // Removes a tenth at once, because each removal moves all other events.
    const std::size_t extra = events.size() - kMostEvents * 9 / 10;
    events.erase(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(extra));
    events_left_out += extra;
}

std::vector<Phase> phases_of(const RunState& run) {
    std::vector<Phase> phases;
    const auto add = [&](const char* kind, double from, double to) {
        from = std::max(from, run.began);
        to = std::min(to, run.last);
        if (from < to) phases.push_back({kind, from, to});
    };
    const auto& judgement = run.summary.judgement;
    if (judgement) {
        const double began = judgement->restarted ? judgement->restarted->count() : run.summary.series_began;
        if (judgement->warmup_ended)
            add("warmup", began, judgement->warmup_ended->count());
        else if (judgement->verdict == Verdict::warming_up)
            add("warmup", began, run.last);
    }
    // Earlier leaks: from the change of the verdict to `leaking` up to its next change. The last leak began before its
    // verdict.
    std::optional<double> leaking;
    for (const RecordedEvent& event : run.events) {
        if (event.kind != "verdict") continue;
        if (leaking) add("leak", *leaking, event.time);
        leaking.reset();
        if (event.text.starts_with(word(Verdict::leaking))) leaking = event.time;
    }
    const bool leaks = judgement && judgement->verdict == Verdict::leaking;
    if (leaks && judgement->leak_started)
        add("leak", judgement->leak_started->count(), run.last);
    else if (leaking)
        add("leak", *leaking, run.last);
    return phases;
}

void remove_commands(Snapshot& snapshot) {
    for (TargetSnapshot& target : snapshot.targets) {
        for (Process& process : target.processes) process.command.reset();
        for (Death& death : target.deaths) death.command.reset();
        if (target.last_death) target.last_death->command.reset();
    }
}

void remove_commands(std::vector<RecordedEvent>& events) {
    for (RecordedEvent& event : events)
        if (event.kind == "action") event.text = "memscope ran a command, whose text is left out";
}

}  // namespace memscope::web
