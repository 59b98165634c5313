#include "watch/growth_and_heap_answers.h"

#include <algorithm>

#include "analysis/heap/census_schedule.h"

namespace memscope {
namespace {

// The process with this pid. Without a pid: the largest processes.
std::vector<const Process*> processes_to_read(const TargetSnapshot& target, std::optional<pid_t> pid) {
    std::vector<const Process*> chosen;
    if (pid) {
        for (const Process& each : target.processes)
            if (each.task.id.pid == *pid) return {&each};
        return {};
    }
    for (const CensusWish& wish : largest_processes(target.processes))
        for (const Process& each : target.processes)
            if (each.task.id == wish.process) chosen.push_back(&each);
    if (!chosen.empty() || target.processes.empty()) return chosen;
    return {&*std::ranges::max_element(target.processes, {}, &Process::own_anon)};
}

// The census to compare the next census with. Prefers a census with objects, because the growth of objects needs two of
// them.
std::optional<HeapCensus> earlier_census(const TargetSnapshot& target, const ProcessId& process) {
    for (const ProcessHeap& known : target.heap)
        if (known.census.process == process) return known.with_objects ? *known.with_objects : known.census;
    return std::nullopt;
}

}  // namespace

GrowthSource growth_of_latest(GrowthRecorder* recorder, const LatestSnapshot& latest_snapshot, NativeReads::Wait wait) {
    if (!recorder) return {};
    return [recorder, &latest_snapshot, wait](const std::string& name,
                                              const GrowthRequest& request) -> std::optional<Growth> {
        const SnapshotPtr latest = latest_snapshot.get();
        if (!latest) return std::nullopt;
        const TargetSnapshot* target = find_target(*latest, name);
        return target ? std::optional(recorder->report(*target, request, wait)) : std::nullopt;
    };
}

HeapSource heap_on_request(HeapRecorder& recorder) {
    return [&recorder](const TargetSnapshot& target, std::optional<pid_t> pid) {
        const std::vector<const Process*> processes = processes_to_read(target, pid);
        std::vector<ProcessId> ids;
        ids.reserve(processes.size());
        for (const Process* process : processes) ids.push_back(process->task.id);
        HeapAnswer answer;
        auto taken = recorder.take(ids);
        for (std::size_t i = 0; i < taken.size(); ++i) {
            if (!taken[i])
                answer.failed.push_back(taken[i].error());
            else
                answer.processes.push_back({.role = {processes[i]->role, processes[i]->rank},
                                            .census = *std::move(taken[i]),
                                            .earlier = earlier_census(target, ids[i])});
        }
        return answer;
    };
}

DeathReporter::GrowthOf growth_at_death(GrowthRecorder* recorder) {
    if (!recorder) return {};
    return [recorder](const TargetSnapshot& target) -> DeathReporter::GrowthThen {
        auto collected = recorder->collect(target, {.since = GrowthRequest::Since::warmup});
        return [recorder, collected = std::move(collected)](DeathReporter::Symbols symbols) -> std::optional<Growth> {
            NamedGrowth named = recorder->name(collected, NativeReads::Wait::no);
            if (!named.complete && symbols == DeathReporter::Symbols::when_loaded) return std::nullopt;
            return std::move(named.growth);
        };
    };
}

Recorder::GrowthOf growth_to_record(GrowthRecorder* recorder) {
    if (!recorder) return {};
    return [recorder](const TargetSnapshot& target) -> std::optional<Growth> {
        return recorder->report(target, {.since = GrowthRequest::Since::warmup}, NativeReads::Wait::some);
    };
}

Recorder::GrowthOf peak_growth_to_record(GrowthRecorder* recorder) {
    if (!recorder) return {};
    return [recorder](const TargetSnapshot& target) -> std::optional<Growth> {
        return recorder->report(target, {.at_peak = true, .kept_peak = true}, NativeReads::Wait::some);
    };
}

}  // namespace memscope
