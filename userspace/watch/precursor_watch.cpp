#include "watch/precursor_watch.h"

namespace memscope {
namespace {

PrecursorInputs inputs_of(const TargetSnapshot& target, const HostMemory& host) {
    const MemoryState& memory = target.memory;
    PrecursorInputs inputs;
    if (const ScopeVerdict* verdict = target.verdict()) inputs.verdict = verdict->judgement.verdict;
    inputs.limit = memory.effective;
    if (memory.pressure) inputs.pressure_full = memory.pressure->full_avg10;
    if (target.reclaim) inputs.reclaim_stalled = target.reclaim->total();
    inputs.refaulted = memory.refaulted;
    if (memory.events) inputs.high_events = memory.events->high;
    inputs.usage = memory.usage;
    inputs.shm = target.shm;
    inputs.host = host;
    return inputs;
}

}  // namespace

std::vector<Precursor> PrecursorWatch::consider(CgroupId id, const TargetSnapshot& target, const HostMemory& host,
                                                const TargetJudge& judge, const Now& now) {
    Precursors& precursors = targets_.try_emplace(id, settings_).first->second;
    const Seconds time = std::chrono::nanoseconds(now.boot_ns);
    PrecursorInputs inputs = inputs_of(target, host);
    inputs.forecasts = judge.forecasts();
    inputs.job_ended = judge.job_ended();
    auto standing = precursors.consider(time, inputs);
    for (Precursor& each : standing) each.since = now.unix_seconds - (time.count() - each.since);
    return standing;
}

}  // namespace memscope
