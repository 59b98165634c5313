#include "review/run_summary.h"

#include <algorithm>

#include "outputs/growth/growth_text.h"

namespace memscope {
namespace {

void add_tick(RunSummary& run, const RecordedSample& sample, const Snapshot& snapshot) {
    const TargetSnapshot& target = snapshot.targets.front();
    ++run.ticks;
    run.length = std::max(run.length, sample.at);
    if (sample.bytes >= run.peak.bytes) run.peak = {sample.bytes, sample.time};
    if (target.memory.peak) run.kernel_peak = std::max(run.kernel_peak.value_or(Bytes{}), *target.memory.peak);
    run.most_processes = std::max<std::uint64_t>(run.most_processes, target.processes.size());
    for (const auto& [key, totals] : target.roles) {
        RunSummary::Part& part = run.roles[role_text(key)];
        part.peak = std::max(part.peak, totals.own_anon());
        part.most_processes = std::max(part.most_processes, totals.processes);
    }
    if (target.gpu) {
        std::map<GpuId, Bytes> used;
        for (const auto& [role_device, use] : target.gpu->roles)
            used[role_device.second] += use.used.value_or(use.reserved_total());
        for (const auto& [gpu, bytes] : used) run.gpus[gpu] = std::max(run.gpus[gpu], bytes);
    }
    if (target.processes.empty()) return;
    if (target.memory.effective) {
        run.limit = target.memory.effective->limit;
        run.limit_owner = target.memory.effective->owner;
    }
    run.heap = target.heap;
    if (const ScopeVerdict* verdict = target.verdict()) {
        run.judgement = verdict->judgement;
        run.explanation = verdict->explanation;
    }
}

}  // namespace

std::vector<const RecordedEvent*> RunSummary::events_of(std::string_view kind) const {
    std::vector<const RecordedEvent*> found;
    for (const RecordedEvent& event : events)
        if (event.kind == kind) found.push_back(&event);
    return found;
}

Result<RunSummary> summarize(Recording& recording, const RecordedTarget& target, const RecordedSpan& span) {
    RunSummary run{.target = target.info.name, .began = recording.began()};
    if (const auto version = recording.meta().find("version"); version != recording.meta().end())
        run.version = version->second;
    auto read = recording.each_tick(target, span, [&](const RecordedSample& sample, const Snapshot& snapshot) {
        add_tick(run, sample, snapshot);
        return true;
    });
    if (!read) return read.error();
    if (run.ticks == 0) return plain_error(recording.path().string() + ": has no tick in that time");
    // Bins also cover the ticks that were removed since.
    const auto bins = recording.bins(target);
    if (!bins) return bins.error();
    if (const auto found = bins->find("target"); found != bins->end())
        for (const RecordedBin& bin : found->second)
            if (bin.at >= span.from && bin.at <= span.to && bin.high > run.peak.bytes)
                run.peak = {bin.high, run.began + bin.at.count()};
    auto events = recording.events(target);
    if (!events) return events.error();
    for (RecordedEvent& event : *events)
        if (event.at >= span.from && event.at <= span.to) run.events.push_back(std::move(event));
    auto growth = recording.last_growth(target);
    if (!growth) return growth.error();
    run.growth = *std::move(growth);
    return run;
}

}  // namespace memscope
