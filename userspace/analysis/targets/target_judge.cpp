#include "analysis/targets/target_judge.h"

#include <algorithm>
#include <utility>

#include "analysis/heap/holder_sentence.h"
#include "analysis/heap/suspect.h"
#include "analysis/roles/own_memory.h"
#include "analysis/targets/scope_sentence.h"

namespace memscope {
namespace {

// Workers may be absent during a validation, but not for an hour.
constexpr Seconds kForgetRole = std::chrono::hours(1);
// Factor; more processes need more memory, so the threshold for a leak is higher.
constexpr double kMoreProcesses = 1.5;
constexpr double kLineReadingsInWarmup = 20;  // readings of the growing lines
constexpr double kEarlyLineReadings = 120;    // readings of the lines for the text before the first verdict
constexpr double kPartsInWarmup = 240;        // resolution of the composition of the memory

constexpr double kNewLines = 1.5;
constexpr double kSameLines = 0.8;

double bar_of(const std::optional<GrowingLines>& lines) {
    if (!lines) return 1;
    if (at_new_lines(*lines)) return kNewLines;
    return at_same_lines(*lines) ? kSameLines : 1;
}

}  // namespace

Bytes judged_memory(const TargetSnapshot& target) {
    if (target.memory.measured_at.empty()) return target.memory.held();
    return sum_own_anon(target.processes);
}

TargetJudge::TargetJudge(Seconds warmup, const TrendSettings& trend)
    : warmup_(warmup),
      whole_(new_scope(Seconds{}, 0)),
      gpus_(warmup),
      growers_(warmup / 2),
      lines_(warmup / kLineReadingsInWarmup),
      early_lines_(warmup / kEarlyLineReadings),
      limits_(warmup, trend) {
    // The process tree shows when the job restarts. A fall of the curve alone is not a restart.
    whole_.judge = Judge({.warmup = warmup, .evidence = {.restarts = std::vector<Seconds>{}}});
}

TargetJudge::Scope TargetJudge::new_scope(Seconds now, std::uint64_t processes) const {
    return {.judge = Judge({.warmup = warmup_}),
            .parts = PartsHistory(warmup_ / kPartsInWarmup),
            .processes = processes,
            .counted = now};
}

void TargetJudge::add(Scope& scope, Seconds now, const HeldParts& held, std::uint64_t processes) const {
    if (now - scope.counted >= warmup_ / 2) {
        scope.more_processes = processes > scope.processes;
        scope.processes = processes;
        scope.counted = now;
    }
    scope.judge.set_bar(scope.more_processes ? kMoreProcesses : bar_of(scope.lines));
    scope.judge.add(now, held.judged);
    scope.parts.add(now, held);
    scope.seen = now;
}

void TargetJudge::add_roles(Seconds now, const TargetSnapshot& target) {
    for (const auto& [key, totals] : target.roles) {
        // The own memory of workers that are older than the watcher is only an estimate until their pages were read.
        if (totals.processes == 0 || !totals.own_known) continue;
        HeldParts held{.judged = totals.own_anon()};
        if (const auto unshared = target.sharing.unshared.find(key); unshared != target.sharing.unshared.end())
            held.unshared = unshared->second.bytes;
        auto scope = roles_.find(key);
        if (scope == roles_.end()) scope = roles_.emplace(key, new_scope(now, totals.processes)).first;
        add(scope->second, now, held, totals.processes);
    }
    std::erase_if(roles_, [&](const auto& role) { return now - role.second.seen >= kForgetRole; });
}

void TargetJudge::forget(const RoleKey& role) {
    roles_.erase(role);
    lines_.forget(role);
}

void TargetJudge::update_lines(Seconds now, std::span<const LineGrowth> lines) {
    if (early_lines_.is_due(now)) early_lines_.update(now, lines);
    if (!lines_.is_due(now)) return;
    lines_.update(now, lines);
    whole_.lines = lines_.growing(std::nullopt);
    for (auto& [key, scope] : roles_) scope.lines = lines_.growing(key);
}

// The line that keeps most of the growth so far. Empty once there is a verdict, or once the lines that grow again and
// again are known.
std::string TargetJudge::early_text(const ScopeVerdict& whole) {
    const Verdict verdict = whole.judgement.verdict;
    if (whole.lines || (verdict != Verdict::insufficient && verdict != Verdict::warming_up)) early_lines_.end();
    if (early_lines_.is_ended() || whole.cause || early_lines_.text().empty()) return {};
    return " So far " + early_lines_.text();
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
        const Judgement& judgement = scope.judge.latest();  // its times are on the clock of the series
        const Seconds since = judgement.leak_started.value_or(judgement.since);
        verdict.cause = scope.parts.cause_since(since);
        const auto rise = scope.parts.rise_since(since);
        if (!verdict.cause && rise)
            verdict.cause =
                free_.cause_of({.since = since, .now = scope.seen, .from = rise->from, .by = rise->by, .role = role});
        const double wall = (scope.seen + to_wall).count();
        // Free memory of an allocator or copies of pages are in no container.
        if (!verdict.cause) verdict.holders = holders_sentence(heap_that_grows(target, role, verdict.grower, wall));
    } else if (verdict.judgement.verdict == Verdict::insufficient && !role) {
        verdict.holders =
            holders_sentence(heap_that_grows(target, std::nullopt, std::nullopt, (scope.seen + to_wall).count()));
    } else if (verdict.judgement.verdict == Verdict::spiky) {
        // A job that makes a larger array in each step has two of them for moments.
        const ProcessHeap* heap = heap_that_grows(target, role, std::nullopt, (scope.seen + to_wall).count());
        if (heap && has_grown_holder(*heap->held)) verdict.holders = holders_sentence(heap);
    }
    verdict.suspect = suspected_holder(target, verdict, scope.judge.series(), to_wall, (scope.seen + to_wall).count());
    return verdict;
}

void TargetJudge::consider(Seconds now, Seconds wall, TargetSnapshot& target, std::span<const GpuDevice> gpus) {
    const Bytes judged = judged_memory(target);
    if (std::ranges::find(target.deaths, DeathCause::oom_kill, &Death::cause) != target.deaths.end())
        whole_.judge.oom_killed(now);
    if (end_.update(target, judged, grower_)) {
        job_ended_ = now;
        limits_.job_ended(now, whole_.judge.latest());
        whole_.judge.restart(now);
    }
    peak_.update(target.memory);
    target.memory.peak_in_run = peak_.reached();
    growers_.update(now, target, judged);
    if (std::exchange(run_, target.run) != target.run) lines_.run_began();
    if (target.lines) update_lines(now, *target.lines);
    free_.update(now - wall, target.heap);
    // Memory that is left after all processes have exited is not memory of the job, so it is not added to the series
    // and the verdict stays.
    const bool known = target.memory.measured_at.empty() ||
                       std::ranges::all_of(target.processes, [](const Process& process) { return process.own_known; });
    if (!target.processes.empty() && known) add(whole_, now, held_parts(target, judged), target.processes.size());
    add_roles(now, target);
    limits_.add(now, target.memory.candidates, judged);
    gpus_.add(now, target);

    ScopeVerdict whole = verdict_of(whole_, std::nullopt, wall - now, target);
    grower_ = whole.grower ? std::optional(whole.grower->pid) : std::nullopt;
    forecasts_ = limits_.foresee(now, whole_.judge.latest(), target.memory.candidates);
    if (!forecasts_.empty()) whole.forecast = forecasts_.front();
    target.verdicts.clear();
    target.verdicts.push_back(std::move(whole));
    for (const auto& [key, scope] : roles_)
        if (scope.seen == now) target.verdicts.push_back(verdict_of(scope, key, wall - now, target));
    for (ScopeVerdict& verdict : target.verdicts) {
        verdict.explanation = scope_sentence(target, verdict);
        if (verdict.suspect) verdict.explanation = verdict.suspect->text + " " + verdict.explanation;
    }
    target.verdicts.front().explanation += early_text(target.verdicts.front());
    for (ScopeVerdict& verdict : gpus_.verdicts(now, wall - now, gpus)) {
        if (verdict.scope == VerdictScope::gpu && verdict.judgement.verdict == Verdict::leaking) {
            const ProcessHeap* heap =
                heap_that_grows(target, std::nullopt, std::nullopt, wall.count(), HolderMemory::device);
            verdict.holders = holder_sentence(heap, HolderMemory::device);
            if (!verdict.holders.empty()) verdict.explanation += " " + verdict.holders;
        }
        if (const Series* series = verdict.scope == VerdictScope::gpu ? gpus_.series(verdict.gpu) : nullptr)
            verdict.suspect =
                suspected_holder(target, verdict, *series, wall - now, wall.count(), HolderMemory::device);
        if (verdict.suspect) verdict.explanation = verdict.suspect->text + " " + verdict.explanation;
        target.verdicts.push_back(std::move(verdict));
    }
}

}  // namespace memscope
