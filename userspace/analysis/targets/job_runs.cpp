#include "analysis/targets/job_runs.h"

#include <algorithm>
#include <utility>

namespace memscope {
namespace {

// A process that holds less is a shell command between two runs: sleep, date, mkdir. An idle CPython holds more.
constexpr Bytes kWork{std::uint64_t{8} << 20U};
// Rounds for which an ended process is remembered: the cause of a death may be decided a few ticks after the process
// has ended.
constexpr std::uint64_t kRemembered = 16;

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

bool JobRuns::has_work_left() const {
    return std::ranges::any_of(members_, [](const auto& each) { return each.second.works && each.second.ended == 0; });
}

JobRuns::Member* JobRuns::living(pid_t pid) {
    for (auto at = members_.lower_bound({pid, 0}); at != members_.end() && at->first.pid == pid; ++at)
        if (at->second.ended == 0) return &at->second;
    return nullptr;
}

void JobRuns::follow_parent(Member& member) {
    const Member* parent = living(member.parent);
    member.run = parent && parent->run != kNoRun ? parent->run : current_;
}

// The first processes of the new run and their ancestors belong to it.
void JobRuns::begin(const Members& first) {
    constexpr int kDeepest = 64;  // generations; a cycle of reused pids ends there
    previous_ = std::exchange(current_, numbers_->next_run());
    began_ = numbers_->round();
    over_ = false;
    for (Member* member : first) {
        member->run = current_;
        for (int i = 0; i < kDeepest; ++i) {
            Member* const parent = living(member->parent);
            if (!parent || parent == member) break;
            if (parent->works) parent->run = current_;
            member = parent;
        }
    }
}

void JobRuns::note_ended(const std::vector<const TrackedProcess*>& processes) {
    bool work_ended = false;
    for (const TrackedProcess* process : processes) {
        const auto known = members_.find(process->task.id);
        if (!process->ended || known == members_.end() || known->second.ended != 0) continue;
        known->second.ended = numbers_->round();
        work_ended = work_ended || known->second.works;
    }
    if (work_ended && !has_work_left()) over_ = true;
}

void JobRuns::update(const std::vector<const TrackedProcess*>& processes) {
    const std::uint64_t round = numbers_->round();
    note_ended(processes);
    Members first;
    Members followers;
    undecided_ = false;
    for (const TrackedProcess* process : processes) {
        const auto [place, is_new] = members_.try_emplace(process->task.id);
        Member& member = place->second;
        if (is_new) member = {.parent = process->task.parent, .since = round, .ended = process->ended ? round : 0};
        if (member.works) continue;
        if (does_work(*process)) {
            member.works = true;
            member.since = round;
            first.push_back(&member);
        } else if (follows_parent(process->role.role)) {
            if (member.run == kNoRun) followers.push_back(&member);
        } else if (process->role.role == Role::other && !process->ended) {
            undecided_ = true;
        }
    }
    if (!first.empty() && over_)
        begin(first);
    else
        for (Member* member : first) member->run = current_;
    for (Member* member : followers) follow_parent(*member);
    const bool came_and_ended = std::ranges::any_of(first, [](const Member* member) { return member->ended != 0; });
    if (came_and_ended && !has_work_left()) over_ = true;
    std::erase_if(members_, [round](const auto& each) {
        return each.second.ended != 0 && round - each.second.ended > kRemembered;
    });
}

void JobRuns::job_ended() {
    const std::uint64_t judged = numbers_->judged();
    if (began_ > judged) return;  // update() has found the end of the run as well
    over_ = true;
    // The next run may have begun within the same tick.
    Members first;
    for (auto& [process, member] : members_)
        if (member.works && member.ended == 0 && member.since > judged) first.push_back(&member);
    if (first.empty()) return;
    begin(first);
    for (auto& [process, member] : members_)
        if (!member.works && member.run != kNoRun && member.since > judged) follow_parent(member);
}

RunId JobRuns::of(const ProcessId& process) const {
    const auto found = members_.find(process);
    if (found == members_.end()) return current_;
    const RunId run = found->second.run;
    return run != kNoRun && run == previous_ ? run : current_;
}

void JobRuns::name(TargetSnapshot& out) const {
    out.run = current_;
    for (Death& death : out.deaths) death.run = of(death.id);
}

}  // namespace memscope
