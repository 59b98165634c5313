#include "analysis/target_judge.h"

#include <algorithm>
#include <iterator>

#include "analysis/explain_scope.h"

namespace memscope {
namespace {

constexpr Seconds kForgetRole = std::chrono::hours(1);  // workers may be away for a validation, not for an hour
constexpr double kMoreProcesses = 1.5;                  // more of them is a reason to hold more, so the bar is higher
constexpr double kLooksInWarmup = 20;                   // at the lines that grow

constexpr double kNewLines = 1.5;
constexpr double kSameLines = 0.8;

double bar_of(const std::optional<GrowingLines>& lines) {
    if (!lines) return 1;
    if (at_new_lines(*lines)) return kNewLines;
    return at_same_lines(*lines) ? kSameLines : 1;
}

}  // namespace

Bytes judged_memory(const TargetSnapshot& target) {
    if (target.memory.measured_at.empty()) return target.memory.unreclaimable + target.memory.swap;
    Bytes anon;
    for (const Process& process : target.processes)
        if (process.task.memory) anon += process.task.memory->anon;
    return anon;
}

TargetJudge::TargetJudge(Seconds warmup, const TrendSettings& trend)
    : warmup_(warmup),
      whole_(Judge({.warmup = warmup})),
      gpus_(warmup),
      growers_(warmup / 2),
      lines_(warmup / kLooksInWarmup),
      limits_(warmup, trend) {}

void TargetJudge::add(Scope& scope, Seconds now, Bytes held, std::uint64_t processes) const {
    if (now - scope.counted >= warmup_ / 2) {
        scope.more_processes = processes > scope.processes;
        scope.processes = processes;
        scope.counted = now;
    }
    scope.judge.set_evidence({.bar = scope.more_processes ? kMoreProcesses : bar_of(scope.lines)});
    scope.judge.add(now, held);
    scope.seen = now;
}

void TargetJudge::look_at_lines(Seconds now, std::span<const LineGrowth> lines) {
    lines_.look_at(now, lines);
    whole_.lines = lines_.growing(std::nullopt);
    for (auto& [key, scope] : roles_) scope.lines = lines_.growing(key);
}

ScopeVerdict TargetJudge::verdict_of(const Scope& scope, const std::optional<RoleKey>& role, Seconds to_wall,
                                     const TargetSnapshot& target) const {
    ScopeVerdict verdict{.scope = role ? VerdictScope::role : VerdictScope::target,
                         .role = role,
                         .began = scope.judge.series().began() + to_wall,
                         .judgement = moved(scope.judge.latest(), to_wall)};
    if (verdict.judgement.verdict == Verdict::leaking || verdict.judgement.verdict == Verdict::warming_up) {
        verdict.grower = growers_.most_grown(target.processes, role);
        verdict.lines = scope.lines;
    }
    return verdict;
}

void TargetJudge::consider(Seconds now, Seconds wall, TargetSnapshot& target, std::span<const GpuDevice> gpus) {
    if (end_.look_at(target, judged_memory(target), grower_)) {
        job_ended_ = now;
        limits_.job_ended(now, whole_.judge.latest());
    }
    growers_.look_at(now, target.processes);
    if (target.lines) look_at_lines(now, *target.lines);
    // What is left when everybody has gone is not what the job held: its verdict stands.
    if (!target.processes.empty()) add(whole_, now, judged_memory(target), target.processes.size());
    for (const auto& [key, totals] : target.roles)
        if (totals.processes > 0)
            add(roles_.try_emplace(key, Scope{Judge({.warmup = warmup_}), totals.processes, now}).first->second, now,
                totals.anon, totals.processes);
    std::erase_if(roles_, [&](const auto& role) { return now - role.second.seen >= kForgetRole; });
    limits_.add(now, target.memory.candidates, judged_memory(target));
    gpus_.add(now, target);

    ScopeVerdict whole = verdict_of(whole_, std::nullopt, wall - now, target);
    grower_ = whole.grower ? std::optional(whole.grower->pid) : std::nullopt;
    forecasts_ = limits_.foresee(now, whole_.judge.latest(), target.memory.candidates);
    if (!forecasts_.empty()) whole.forecast = forecasts_.front();
    target.verdicts.clear();
    target.verdicts.push_back(std::move(whole));
    for (const auto& [key, scope] : roles_)
        if (scope.seen == now) target.verdicts.push_back(verdict_of(scope, key, wall - now, target));
    for (ScopeVerdict& verdict : target.verdicts) verdict.explanation = explain_scope(target, verdict);
    std::ranges::move(gpus_.verdicts(now, wall - now, gpus), std::back_inserter(target.verdicts));
}

}  // namespace memscope
