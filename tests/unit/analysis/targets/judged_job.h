// A training job as the watcher sees it, for tests that judge it tick by tick.
#pragma once
#include <chrono>
#include <optional>

#include "analysis/roles/role_totals.h"
#include "analysis/targets/target_judge.h"

namespace memscope::judged {

inline constexpr std::uint64_t kMiB = 1 << 20;
inline constexpr std::uint64_t kGiB = 1 << 30;
inline constexpr Seconds kWall{1.7e9};

inline Process process(pid_t pid, pid_t parent, Role role, const char* comm, std::uint64_t anon) {
    Process process;
    process.task.id = {pid, static_cast<std::uint64_t>(pid)};
    process.task.parent = parent;
    process.task.comm = comm;
    process.task.memory = AddressSpace{.anon = {anon}};
    process.role = role;
    return process;
}

// A job with a launcher, a trainer with the given memory, and workers.
inline TargetSnapshot job(std::uint64_t trainer, std::size_t workers = 0) {
    TargetSnapshot target;
    target.processes = {process(10, 1, Role::launcher, "uv", 20 * kMiB),
                        process(11, 10, Role::launcher, "sh", 4 * kMiB),
                        process(12, 11, Role::trainer, "python3", trainer)};
    for (std::size_t i = 0; i < workers; ++i)
        target.processes.push_back(
            process(static_cast<pid_t>(20 + i), 12, Role::compile_worker, "python3", 400 * kMiB));
    target.roles = sum_by_role(target.processes);
    for (const auto& [key, totals] : target.roles) target.memory.unreclaimable += totals.anon;
    target.memory.candidates = {{"own", {16 * kGiB}, target.memory.unreclaimable}};
    target.memory.effective = nearest_limit(target.memory.candidates);
    return target;
}

inline void add_limit(TargetSnapshot& target, const char* owner, std::uint64_t limit, std::uint64_t by_others) {
    target.memory.candidates.push_back({owner, {limit}, Bytes{target.memory.unreclaimable.n + by_others}});
    target.memory.effective = nearest_limit(target.memory.candidates);
}

struct Watched {
    TargetJudge judge{std::chrono::minutes(20)};
    double now = 1000;
    TargetSnapshot latest{};

    template <class Make>
    void run(double seconds, Make make, double interval = 5) {
        for (double i = 0; i < seconds; i += interval, now += interval) {
            latest = make(i);
            judge.consider(Seconds(now), kWall + Seconds(now), latest);
        }
    }
    const std::optional<Forecast>& forecast() const { return latest.verdict()->forecast; }
    const ScopeVerdict* of(Role role) const {
        for (const ScopeVerdict& verdict : latest.verdicts)
            if (verdict.role && verdict.role->role == role) return &verdict;
        return nullptr;
    }
};

}  // namespace memscope::judged
