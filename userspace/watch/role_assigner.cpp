#include "watch/role_assigner.h"

#include <utility>

namespace memscope {
namespace {

RoleBook::Subject subject_of(const TrackedProcess& process) {
    return {.id = process.task.id,
            .parent = process.task.parent,
            .comm = process.task.comm,
            .argv = &process.argv,
            .rank = process.rank,
            .forked_without_exec = process.task.forked_without_exec,
            // Only a scan can tell.
            .own_memory = process.scanned ? std::optional(process.task.memory.has_value()) : std::nullopt,
            .gpu_context = process.gpu_context,
            .gpu_index = process.gpu_index,
            .exec_count = process.exec_count};
}

}  // namespace

void RoleAssigner::assign(ProcessTable& processes) {
    if (std::exchange(decided_revision_, processes.revision()) == processes.revision()) return;
    std::vector<TrackedProcess*> all;
    for (auto& [pid, process] : processes.living()) all.push_back(&process);
    for (TrackedProcess& process : processes.ended()) all.push_back(&process);
    std::vector<RoleBook::Subject> subjects;
    subjects.reserve(all.size());
    for (const TrackedProcess* process : all) subjects.push_back(subject_of(*process));
    const std::vector<RoleKey> roles = roles_.decide(subjects);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (std::exchange(all[i]->role, roles[i]) != roles[i]) all[i]->role_changed = true;
    assign_slots(all);
}

void RoleAssigner::assign_slots(const std::vector<TrackedProcess*>& all) {
    std::vector<SlotBook::Subject> subjects;
    subjects.reserve(all.size());
    for (const TrackedProcess* process : all)
        subjects.push_back({process->task.id, process->last_target(), process->role, process->ended});
    const auto slots = slots_.assign(subjects);
    for (std::size_t i = 0; i < all.size(); ++i) all[i]->slot = slots[i];
}

}  // namespace memscope
