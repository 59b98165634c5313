#include "analysis/targets/job_runs.h"

#include <algorithm>
#include <utility>

namespace memscope {
namespace {

// A process with less is a shell command between two runs: sleep, date, mkdir. An idle CPython has more.
constexpr Bytes kWork{std::uint64_t{8} << 20U};
// The reason of a death may be decided a few ticks after the process has ended.
constexpr std::uint64_t kRemembered = 16;  // rounds

bool follows_parent(Role role) {
    return role == Role::dataloader_worker || role == Role::compile_worker || role == Role::helper;
}

bool does_work(const TrackedProcess& process) {
    if (process.role.role == Role::trainer) return true;
    if (process.role.role != Role::other) return false;
    if (process.ended && process.exit_code != 0) return true;
    return process.task.memory && process.task.memory->anon >= kWork;
}

}  // namespace

bool JobRuns::has_work_left(const Target& target) {
    return std::ranges::any_of(target.members,
                               [](const auto& each) { return each.second.works && each.second.ended == 0; });
}

JobRuns::Member* JobRuns::living(Target& target, pid_t pid) {
    for (auto at = target.members.lower_bound({pid, 0}); at != target.members.end() && at->first.pid == pid; ++at)
        if (at->second.ended == 0) return &at->second;
    return nullptr;
}

void JobRuns::follow_parent(Target& target, Member& member) {
    const Member* parent = living(target, member.parent);
    member.run = parent && parent->run != kNoRun ? parent->run : target.current;
}

// Begins a run with its first processes and their ancestors.
void JobRuns::begin(Target& target, const Members& first) {
    constexpr int kDeepest = 64;  // generations; a cycle of reused pids ends there
    target.previous = std::exchange(target.current, next_run());
    target.began = round_;
    target.over = false;
    for (Member* member : first) {
        member->run = target.current;
        for (int i = 0; i < kDeepest; ++i) {
            Member* const parent = living(target, member->parent);
            if (!parent || parent == member) break;
            if (parent->works) parent->run = target.current;
            member = parent;
        }
    }
}

void JobRuns::look_at(Target& target, const std::vector<const TrackedProcess*>& processes) {
    bool work_ended = false;
    for (const TrackedProcess* process : processes) {
        const auto known = target.members.find(process->task.id);
        if (!process->ended || known == target.members.end() || known->second.ended != 0) continue;
        known->second.ended = round_;
        work_ended = work_ended || known->second.works;
    }
    if (work_ended && !has_work_left(target)) target.over = true;

    Members first;
    Members followers;
    target.undecided = false;
    for (const TrackedProcess* process : processes) {
        const auto [place, is_new] = target.members.try_emplace(process->task.id);
        Member& member = place->second;
        if (is_new) member = {.parent = process->task.parent, .since = round_, .ended = process->ended ? round_ : 0};
        if (member.works) continue;
        if (does_work(*process)) {
            member.works = true;
            member.since = round_;
            first.push_back(&member);
        } else if (follows_parent(process->role.role)) {
            if (member.run == kNoRun) followers.push_back(&member);
        } else if (process->role.role == Role::other && !process->ended) {
            target.undecided = true;
        }
    }
    if (!first.empty() && target.over)
        begin(target, first);
    else
        for (Member* member : first) member->run = target.current;
    for (Member* member : followers) follow_parent(target, *member);
    const bool came_and_ended = std::ranges::any_of(first, [](const Member* member) { return member->ended != 0; });
    if (came_and_ended && !has_work_left(target)) target.over = true;
    std::erase_if(target.members, [this](const auto& each) {
        return each.second.ended != 0 && round_ - each.second.ended > kRemembered;
    });
}

void JobRuns::look_at(const ProcessTable& processes, const Nesting& nesting) {
    ++round_;
    const bool changed = std::exchange(revision_, processes.revision()) != processes.revision();
    const bool undecided =
        std::ranges::any_of(targets_, [](const auto& each) { return each.second.over && each.second.undecided; });
    if (!changed && !undecided) return;

    std::map<CgroupId, std::vector<const TrackedProcess*>> inside;  // by innermost target
    for (const auto& [pid, process] : processes.living()) inside[process.last_target()].push_back(&process);
    for (const TrackedProcess& process : processes.ended()) inside[process.last_target()].push_back(&process);
    std::map<CgroupId, std::vector<const TrackedProcess*>> all;
    for (const auto& [innermost, its] : inside)
        for (const CgroupId target : nesting.around(innermost))
            all[target].insert(all[target].end(), its.begin(), its.end());
    for (auto& [id, its] : all) {
        // Parents come before their children.
        std::ranges::sort(its, {}, [](const TrackedProcess* process) {
            return std::pair(process->task.id.start_ns, process->task.id.pid);
        });
        look_at(targets_.try_emplace(id, *this).first->second, its);
    }
}

void JobRuns::job_ended(CgroupId id) {
    const auto found = targets_.find(id);
    if (found == targets_.end() || found->second.began > judged_) return;  // the end was already detected here
    Target& target = found->second;
    target.over = true;
    // The next run may have begun within the same tick.
    Members first;
    for (auto& [process, member] : target.members)
        if (member.works && member.ended == 0 && member.since > judged_) first.push_back(&member);
    if (first.empty()) return;
    begin(target, first);
    for (auto& [process, member] : target.members)
        if (!member.works && member.run != kNoRun && member.since > judged_) follow_parent(target, member);
}

RunId JobRuns::of(CgroupId id, const ProcessId& process) {
    const Target& target = targets_.try_emplace(id, *this).first->second;
    const auto found = target.members.find(process);
    if (found == target.members.end()) return target.current;
    const RunId run = found->second.run;
    return run != kNoRun && run == target.previous ? run : target.current;
}

std::vector<RunId> JobRuns::around(const TrackedProcess& process, const Nesting& nesting) {
    std::vector<RunId> runs;
    for (const CgroupId target : nesting.around(process.last_target())) runs.push_back(of(target, process.task.id));
    return runs;
}

void JobRuns::show(const TargetSnapshot& target) {
    shown_.insert(target.run);
    for (const Death& death : target.deaths) shown_.insert(death.run);
}

void JobRuns::name(CgroupId id, TargetSnapshot& out) {
    out.run = current(id);
    for (Death& death : out.deaths) death.run = of(id, death.id);
    show(out);
}

void JobRuns::end_tick(const Snapshot& snapshot) {
    judged_ = round_;
    shown_.clear();
    for (const TargetSnapshot& target : snapshot.targets) show(target);
}

std::set<RunId> JobRuns::kept() const {
    std::set<RunId> kept = shown_;
    for (const auto& [id, target] : targets_) {
        kept.insert(target.current);
        if (target.previous != kNoRun) kept.insert(target.previous);
    }
    return kept;
}

}  // namespace memscope
