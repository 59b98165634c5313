#include "watch/targets/run_recorder.h"

#include <algorithm>
#include <map>
#include <utility>

namespace memscope {

void RunRecorder::update(const ProcessTable& processes, WatchedTargets& targets) {
    targets.run_numbers().begin_round();
    const bool changed = std::exchange(revision_, processes.revision()) != processes.revision();
    const bool may_begin =
        std::ranges::any_of(targets.all(), [](const auto& each) { return each.second.runs.may_begin(); });
    if (!changed && !may_begin) return;

    using Processes = std::vector<const TrackedProcess*>;
    std::map<CgroupId, Processes> by_innermost;
    for (const auto& [pid, process] : processes.living()) by_innermost[process.last_target()].push_back(&process);
    for (const TrackedProcess& process : processes.ended()) by_innermost[process.last_target()].push_back(&process);
    std::map<CgroupId, Processes> by_target;
    for (const auto& [innermost, its] : by_innermost)
        for (const TargetState* target : targets.around(innermost)) {
            Processes& all = by_target[target->id];
            all.insert(all.end(), its.begin(), its.end());
        }
    for (auto& [id, its] : by_target) {
        // Sorts parents before their children, as JobRuns::update() requires.
        std::ranges::sort(its, {}, [](const TrackedProcess* process) {
            return std::pair(process->task.id.start_ns, process->task.id.pid);
        });
        targets.find(id)->runs.update(its);
    }
}

}  // namespace memscope
