#include "watch/targets/role_assigner.h"

#include <algorithm>
#include <map>
#include <utility>

namespace memscope {

Process shown(TrackedProcess& tracked, const Now& now) {
    if (!tracked.command) tracked.command = command_line(tracked);
    return {.task = tracked.task,
            .role = tracked.role.role,
            .rank = tracked.role.rank,
            .folded_rank = tracked.folded_rank,
            .slot = tracked.slot,
            .start_time = now.to_unix(tracked.task.id.start_ns),
            .command = tracked.command};
}

namespace {

RoleDecider::Subject subject_of(const TrackedProcess& process) {
    return {.id = process.task.id,
            .parent = process.task.parent,
            .comm = process.task.comm,
            .argv = &process.argv,
            .rank = process.rank,
            .forked_without_exec = process.task.forked_without_exec,
            // Only a scan knows whether a process has an address space of its own.
            .own_memory = process.scanned ? std::optional(process.task.memory.has_value()) : std::nullopt,
            .gpu_context = process.gpu_context,
            .gpu_index = process.gpu_index,
            .exec_count = process.exec_count};
}

// Nested targets share the places of the outermost target.
void fold_vacated(WatchedTargets& targets) {
    std::map<CgroupId, std::vector<RoleKey>> vacated;
    for (auto& [id, target] : targets.all())
        if (auto roles = target.ranks.take_vacated(); !roles.empty()) vacated.emplace(id, std::move(roles));
    if (vacated.empty()) return;
    for (auto& [id, target] : targets.all())
        if (const auto found = vacated.find(targets.outermost(id)->id); found != vacated.end())
            for (const RoleKey& role : found->second) target.fold_rank(role);
}

}  // namespace

void RoleAssigner::assign(ProcessTable& processes, WatchedTargets& targets, Seconds now) {
    const bool changed = std::exchange(decided_revision_, processes.revision()) != processes.revision();
    const bool due =
        std::ranges::any_of(targets.all(), [now](const auto& each) { return each.second.ranks.is_due(now); });
    if (!changed && !due) return;
    std::vector<TrackedProcess*> all;
    for (auto& [pid, process] : processes.living()) all.push_back(&process);
    for (TrackedProcess& process : processes.ended()) all.push_back(&process);
    std::vector<RoleDecider::Subject> subjects;
    subjects.reserve(all.size());
    for (const TrackedProcess* process : all) subjects.push_back(subject_of(*process));
    assign_keys(all, roles_.decide(subjects), targets, now);
    fold_vacated(targets);
    assign_slots(all);
}

// Processes outside of all targets keep their rank, because nothing is counted for them.
void RoleAssigner::assign_keys(const std::vector<TrackedProcess*>& all, const std::vector<RoleKey>& wanted,
                               WatchedTargets& targets, Seconds now) {
    std::vector<RoleKey> keys = wanted;
    std::map<CgroupId, std::vector<std::size_t>> by_outermost;
    CgroupId innermost = kNoCgroup;
    const TargetState* outermost = nullptr;  // around `innermost`; neighbours are mostly in the same target
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (const CgroupId target = all[i]->last_target(); target != innermost) {
            innermost = target;
            outermost = targets.outermost(target);
        }
        if (outermost) by_outermost[outermost->id].push_back(i);
    }
    for (auto& [id, target] : targets.all()) {  // also targets without processes: their places become free
        const std::vector<std::size_t>& indices = by_outermost[id];
        std::vector<RankPlaces::Subject> subjects;
        subjects.reserve(indices.size());
        for (const std::size_t i : indices) subjects.push_back({wanted[i], all[i]->ended});
        const std::vector<RoleKey> assigned = target.ranks.assign(subjects, now);
        for (std::size_t n = 0; n < indices.size(); ++n) keys[indices[n]] = assigned[n];
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        TrackedProcess& process = *all[i];
        if (std::exchange(process.role, keys[i]) != keys[i]) process.role_changed = true;
        const bool folded = keys[i] != wanted[i];
        if (folded && !process.folded_rank) ++folded_ranks_;
        process.folded_rank = folded ? wanted[i].rank : std::nullopt;
    }
}

void RoleAssigner::assign_slots(const std::vector<TrackedProcess*>& all) {
    std::vector<SlotAssigner::Subject> subjects;
    subjects.reserve(all.size());
    for (const TrackedProcess* process : all)
        subjects.push_back({process->task.id, process->last_target(), process->role, process->ended});
    const auto slots = slots_.assign(subjects);
    for (std::size_t i = 0; i < all.size(); ++i) all[i]->slot = slots[i];
}

}  // namespace memscope
