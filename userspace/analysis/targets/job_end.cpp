#include "analysis/targets/job_end.h"

#include <algorithm>
#include <utility>

#include "analysis/targets/scope_sentence.h"

namespace memscope {

void end_target(TargetSnapshot& target) {
    target.up = false;
    target.precursors.clear();
    for (ScopeVerdict& verdict : target.verdicts) {
        if (!verdict.forecast) continue;
        verdict.forecast.reset();
        if (verdict.scope == VerdictScope::target) verdict.explanation = scope_sentence(target, verdict);
    }
    target.heap.clear();  // after the explanations, which use it
}

namespace {

// Workers are forked again in each epoch. The exit of a worker does not end the job; a kill of it may.
bool is_replaced_each_epoch(Role role) { return role == Role::dataloader_worker || role == Role::compile_worker; }

}  // namespace

bool JobEnd::update(const TargetSnapshot& target, Bytes held, std::optional<pid_t> grower) {
    std::vector<Member> present;
    present.reserve(target.processes.size());
    for (const Process& process : target.processes) {
        const auto& memory = process.task.memory;
        present.push_back({process.task.id, process.role, memory ? memory->anon + memory->swap : Bytes{}});
    }
    std::ranges::sort(present, {}, &Member::id);
    const std::vector<Member> was = std::exchange(members_, std::move(present));
    const Bytes held_before = std::exchange(held_, held);
    if (was.empty()) return false;
    if (members_.empty()) return true;

    Bytes gone;
    for (const Member& member : was) {
        if (std::ranges::binary_search(members_, member.id, {}, &Member::id)) continue;
        const bool died = std::ranges::find(target.deaths, member.id, &Death::id) != target.deaths.end();
        if (!died && is_replaced_each_epoch(member.role)) continue;
        if (grower == member.id.pid) return true;
        gone += member.held;
    }
    return gone.n > 0 && 2 * gone.n >= held_before.n;
}

}  // namespace memscope
