#include "watch/targets/role_assigner.h"

#include <algorithm>
#include <utility>

namespace memscope {
namespace {

constexpr std::size_t kMostCommandBytes = 512;

std::shared_ptr<const std::string> joined_command(const std::vector<std::string>& argv) {
    std::string command;
    for (const std::string& argument : argv) {
        if (!command.empty()) command += ' ';
        command += argument;
        if (command.size() >= kMostCommandBytes) break;
    }
    command.resize(std::min(command.size(), kMostCommandBytes));
    return std::make_shared<const std::string>(std::move(command));
}

}  // namespace

Process shown(TrackedProcess& tracked, const Now& now) {
    if (!tracked.command) tracked.command = joined_command(tracked.argv);
    return {.task = tracked.task,
            .role = tracked.role.role,
            .rank = tracked.role.rank,
            .folded_rank = tracked.folded_rank,
            .slot = tracked.slot,
            .start_time = now.to_unix(tracked.task.id.start_ns),
            .command = tracked.command};
}

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

void RoleAssigner::assign(ProcessTable& processes, const Nesting& nesting, Seconds now) {
    const bool changed = std::exchange(decided_revision_, processes.revision()) != processes.revision();
    if (!changed && !ranks_.is_due(now)) return;
    std::vector<TrackedProcess*> all;
    for (auto& [pid, process] : processes.living()) all.push_back(&process);
    for (TrackedProcess& process : processes.ended()) all.push_back(&process);
    std::vector<RoleBook::Subject> subjects;
    subjects.reserve(all.size());
    for (const TrackedProcess* process : all) subjects.push_back(subject_of(*process));
    assign_keys(all, roles_.decide(subjects), nesting, now);
    assign_slots(all);
}

void RoleAssigner::assign_keys(const std::vector<TrackedProcess*>& all, const std::vector<RoleKey>& wanted,
                               const Nesting& nesting, Seconds now) {
    std::vector<RankPlaces::Subject> subjects;
    subjects.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto around = nesting.around(all[i]->last_target());
        subjects.push_back({around.empty() ? kNoCgroup : around.back(), wanted[i], all[i]->ended});
    }
    const std::vector<RoleKey> keys = ranks_.assign(subjects, now);
    for (std::size_t i = 0; i < all.size(); ++i) {
        TrackedProcess& process = *all[i];
        if (std::exchange(process.role, keys[i]) != keys[i]) process.role_changed = true;
        const bool folded = keys[i] != wanted[i];
        if (folded && !process.folded_rank) ++folded_ranks_;
        process.folded_rank = folded ? wanted[i].rank : std::nullopt;
    }
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
