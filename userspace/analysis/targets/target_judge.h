#pragma once
#include <map>

#include "analysis/gpu/gpu_judge.h"
#include "analysis/growth/line_history.h"
#include "analysis/heap/free_growth.h"
#include "analysis/limits/limits.h"
#include "analysis/limits/memory_peak.h"
#include "analysis/targets/growers.h"
#include "analysis/targets/growth_cause.h"
#include "analysis/targets/job_end.h"
#include "analysis/verdict/judge.h"

namespace memscope {

// Judges a target at each tick: all its memory, the memory of each role and GPU, and which limit is reached first.
class TargetJudge {
  public:
    explicit TargetJudge(Seconds warmup, const TrendSettings& trend = {});

    // True if the growing lines should be read now. This is not done at every tick, because it costs much and adds
    // little.
    bool wants_lines(Seconds now) const { return lines_.is_due(now) || early_lines_.is_due(now); }
    // Adds the samples of this tick and fills in the verdicts. `now` is on the boot clock, `wall` is the same moment in
    // seconds since 1970, `gpus` are those of the machine. `target` already contains the deaths of this tick.
    void consider(Seconds now, Seconds wall, TargetSnapshot& target, std::span<const GpuDevice> gpus = {});
    // The pair of role and rank has no series any more.
    void forget(const RoleKey& role);
    // The forecasts of all limits at the last tick, the earliest first. All are needed, because a warm-up that would
    // reach one limit must not hide a leak that reaches another one a little later.
    const std::vector<Forecast>& forecasts() const { return forecasts_; }
    // When the processes that held most of the target, or made it grow, last exited; boot clock.
    std::optional<Seconds> job_ended() const { return job_ended_; }

  private:
    // A series with related data and the time of its last sample.
    struct Scope {
        Judge judge;
        PartsHistory parts;
        std::uint64_t processes = 0;  // number of processes one window ago, and when that was
        Seconds counted{};
        bool more_processes = false;          // more processes than in the window before
        std::optional<GrowingLines> lines{};  // the lines at which it grew, when lines were last read
        Seconds seen{};
    };

    ScopeVerdict verdict_of(const Scope& scope, const std::optional<RoleKey>& role, Seconds to_wall,
                            const TargetSnapshot& target) const;
    Scope new_scope(Seconds now, std::uint64_t processes) const;
    void add(Scope& scope, Seconds now, const HeldParts& held, std::uint64_t processes) const;
    void add_roles(Seconds now, const TargetSnapshot& target);
    void update_lines(Seconds now, std::span<const LineGrowth> lines);
    std::string early_text(const ScopeVerdict& whole);

    Seconds warmup_;
    Scope whole_;
    std::map<RoleKey, Scope> roles_{};
    GpuJudge gpus_;
    Growers growers_;
    LineHistory lines_;
    EarlyLines early_lines_;
    FreeGrowth free_{};
    Limits limits_;
    std::vector<Forecast> forecasts_{};
    JobEnd end_{};
    std::optional<pid_t> grower_{};  // the process that grew most, at the previous tick
    std::optional<Seconds> job_ended_{};
    PeakWatch peak_{};
    RunId run_ = kNoRun;  // of the job, at the previous tick
};

// The judged memory of a target: unreclaimable plus swapped-out memory. If the target is not a cgroup of its own, the
// anonymous memory of its processes, each page counted once.
Bytes judged_memory(const TargetSnapshot& target);

}  // namespace memscope
