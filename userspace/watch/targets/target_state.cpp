#include "watch/targets/target_state.h"

#include <utility>

namespace memscope {
void CudaFailures::fold_rank(const RoleKey& role) {
    for (auto each = counts_.lower_bound({role, GpuId{}}); each != counts_.end() && each->first.first == role;) {
        counts_[{{role.role, std::nullopt}, each->first.second}] += each->second;
        each = counts_.erase(each);
    }
}

void CudaFailures::describe(TargetSnapshot& out) const {
    if (counts_.empty()) return;
    if (!out.gpu) out.gpu.emplace();
    out.gpu->failures = counts_;
}

TargetState::TargetState(NewTarget target, const TargetSettings& settings, std::shared_ptr<RunNumbers> numbers)
    : id(target.id),
      info(std::move(target.info)),
      memory(std::move(target.memory)),
      ranks(settings.keep_ranks),
      runs(std::move(numbers)),
      sharing(settings.page),
      heap(settings.heap_while_leaking),
      judge(settings.warmup, settings.trend),
      precursors(settings.precursors) {}

void TargetState::fold_rank(const RoleKey& role) {
    counters.fold_rank(role);
    cuda_failures.fold_rank(role);
    judge.forget(role);
}

std::vector<Precursor> TargetState::find_precursors(const TargetSnapshot& out, const HostMemory& host, const Now& now) {
    const Seconds time = std::chrono::nanoseconds(now.boot_ns);
    auto found =
        precursors.consider(time, precursor_inputs(out, host, judge.forecasts(), judge.job_ended(), now.unix_seconds));
    for (Precursor& each : found) each.since = now.unix_seconds - (time.count() - each.since);
    return found;
}

void TargetState::remember(TargetSnapshot& out) {
    // Processes are not copied, because there can be thousands.
    std::vector<Process> processes = std::exchange(out.processes, {});
    last_shown = out;
    last_shown.deaths.clear();
    out.processes = std::move(processes);
}

TargetState& WatchedTargets::add(NewTarget target) {
    const CgroupId id = target.id;
    nesting_.add(id, target.enclosing);
    for (const CgroupId inner : target.inside) nesting_.add(inner, id);
    return targets_.try_emplace(id, std::move(target), settings_, run_numbers_).first->second;
}

void WatchedTargets::drop(CgroupId id) {
    nesting_.remove(id);
    targets_.erase(id);
}

TargetState* WatchedTargets::find(CgroupId id) {
    const auto found = targets_.find(id);
    return found == targets_.end() ? nullptr : &found->second;
}

std::vector<TargetState*> WatchedTargets::around(CgroupId innermost) {
    std::vector<TargetState*> around;
    for (TargetState* at = find(innermost); at; at = find(nesting_.enclosing(at->id))) around.push_back(at);
    return around;
}

TargetState* WatchedTargets::outermost(CgroupId innermost) {
    TargetState* outermost = nullptr;
    for (TargetState* at = find(innermost); at; at = find(nesting_.enclosing(at->id))) outermost = at;
    return outermost;
}

std::vector<RoleLedger*> WatchedTargets::ledgers_around(CgroupId innermost) {
    std::vector<RoleLedger*> ledgers;
    for (TargetState* at = find(innermost); at; at = find(nesting_.enclosing(at->id))) ledgers.push_back(&at->counters);
    return ledgers;
}

}  // namespace memscope
