#include "analysis/limits/processes_to_notify.h"

#include <algorithm>
#include <map>

namespace memscope {
namespace {

constexpr int kMostLevels = 64;  // a tree that changes during the read may contain cycles

std::uint64_t held(const Process& process) {
    const auto& memory = process.task.memory;
    return memory ? (process.own_anon() + memory->shmem + memory->swap).n : 0;
}

bool holds_more(const Process* a, const Process* b) { return held(*a) > held(*b); }

// The grower of the whole target. None while the floor of the target does not rise, because then the process that grew
// most is not a cause of anything: in every target some process has grown most.
std::optional<pid_t> grower_of(const TargetSnapshot& target) {
    const ScopeVerdict* verdict = target.verdict();
    if (!verdict || !verdict->grower) return std::nullopt;
    const Verdict word = verdict->judgement.verdict;
    if (word != Verdict::leaking && word != Verdict::warming_up) return std::nullopt;
    return verdict->grower->pid;
}

using ByPid = std::map<pid_t, const Process*>;

const Process* find(const ByPid& by_pid, pid_t pid) {
    const auto found = by_pid.find(pid);
    return found == by_pid.end() ? nullptr : found->second;
}

// The process itself, or its nearest ancestor that is a trainer.
const Process* trainer_around(const Process* process, const ByPid& by_pid) {
    for (int level = 0; process && level < kMostLevels; ++level) {
        if (process->role == Role::trainer) return process;
        process = find(by_pid, process->task.parent);
    }
    return nullptr;
}

}  // namespace

ProcessesToNotify processes_to_notify(const TargetSnapshot& target) {
    ProcessesToNotify result;
    ByPid by_pid;
    const Process* largest = nullptr;
    for (const Process& process : target.processes) {
        by_pid[process.task.id.pid] = &process;
        if (process.role == Role::trainer) result.trainers.push_back(&process);
        if (process.role != Role::launcher && (!largest || holds_more(&process, largest))) largest = &process;
    }
    std::ranges::stable_sort(result.trainers, holds_more);
    if (const auto pid = grower_of(target)) result.grower = find(by_pid, *pid);

    result.chosen = trainer_around(result.grower, by_pid);
    if (!result.chosen && !result.trainers.empty()) result.chosen = result.trainers.front();
    if (!result.chosen) result.chosen = result.grower ? result.grower : largest;
    if (!result.chosen && !target.processes.empty()) result.chosen = &target.processes.front();
    return result;
}

}  // namespace memscope
