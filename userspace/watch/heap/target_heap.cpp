#include "watch/heap/target_heap.h"

#include <algorithm>
#include <utility>

namespace memscope {

void TargetHeap::add(HeapCensus census) {
    const ProcessId process = census.process;
    if (const auto found = kept_.find(process); found != kept_.end()) {
        found->second.earlier = std::exchange(found->second.census, std::move(census));
        return;
    }
    if (kept_.size() >= kMostProcesses)
        kept_.erase(std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.census.time; }));
    kept_.emplace(process, Kept{.census = std::move(census)});
}

void TargetHeap::describe(TargetSnapshot& out) {
    std::erase_if(kept_, [&](const auto& entry) {
        const auto process = std::ranges::lower_bound(out.processes, entry.first.pid, {},
                                                      [](const Process& each) { return each.task.id.pid; });
        if (process == out.processes.end() || process->task.id != entry.first) return true;
        out.heap.push_back(
            {.role = {process->role, process->rank}, .census = entry.second.census, .earlier = entry.second.earlier});
        return false;
    });
    std::ranges::stable_sort(out.heap,
                             [](const ProcessHeap& a, const ProcessHeap& b) { return a.census.anon > b.census.anon; });
}

std::vector<CensusWish> TargetHeap::wishes(Seconds now, const TargetSnapshot& out) {
    const CensusTrigger::Reason reason = trigger_.look_at(now, out);
    if (reason == CensusTrigger::Reason::none) return {};
    std::vector<CensusWish> wishes = largest_processes(out.processes);
    for (CensusWish& wish : wishes) wish.urgent = reason == CensusTrigger::Reason::urgent;
    return wishes;
}

}  // namespace memscope
