#pragma once
#include <map>

#include "analysis/gpu/gpu_judge.h"
#include "analysis/growth/line_history.h"
#include "analysis/limits/limits.h"
#include "analysis/limits/memory_peak.h"
#include "analysis/targets/growers.h"
#include "analysis/targets/growth_cause.h"
#include "analysis/targets/job_end.h"
#include "analysis/verdict/judge.h"

namespace memscope {

// Judges a target tick by tick: all it holds, the memory of each role and GPU, and which limit is reached first.
class TargetJudge {
  public:
    explicit TargetJudge(Seconds warmup, const TrendSettings& trend = {});

    // Whether it is time to look at the lines that grow: not in every tick, which would cost much and say little.
    bool wants_lines(Seconds now) const { return lines_.is_due(now); }
    // Adds what this tick says and fills in what it means. `now` is on the boot clock, `wall` the same moment since
    // 1970, `gpus` are those of the machine. The deaths of this tick are in `target` already.
    void consider(Seconds now, Seconds wall, TargetSnapshot& target, std::span<const GpuDevice> gpus = {});
    // The pair of role and rank has no series any more.
    void forget(const RoleKey& role);
    // The forecasts of all limits at that tick, the earliest first: a warm-up that is foreseen to reach one limit must
    // not hide a leak that reaches another a little later.
    const std::vector<Forecast>& forecasts() const { return forecasts_; }
    // When the processes that held most of the target, or made it grow, were last gone; monotonic.
    std::optional<Seconds> job_ended() const { return job_ended_; }

  private:
    // A series, what is known beside it, and when somebody last added to it.
    struct Scope {
        Judge judge;
        PartsHistory parts;
        std::uint64_t processes = 0;  // a window ago, and since when
        Seconds counted{};
        bool more_processes = false;          // than in the window before
        std::optional<GrowingLines> lines{};  // where it grows, at the last look
        Seconds seen{};
    };

    ScopeVerdict verdict_of(const Scope& scope, const std::optional<RoleKey>& role, Seconds to_wall,
                            const TargetSnapshot& target) const;
    Scope new_scope(Seconds now, std::uint64_t processes) const;
    void add(Scope& scope, Seconds now, const HeldParts& held, std::uint64_t processes) const;
    void add_roles(Seconds now, const TargetSnapshot& target);
    void look_at_lines(Seconds now, std::span<const LineGrowth> lines);

    Seconds warmup_;
    Scope whole_;
    std::map<RoleKey, Scope> roles_{};
    GpuJudge gpus_;
    Growers growers_;
    LineHistory lines_;
    Limits limits_;
    std::vector<Forecast> forecasts_{};
    JobEnd end_{};
    std::optional<pid_t> grower_{};  // the process that grew most, at the tick before
    std::optional<Seconds> job_ended_{};
    PeakWatch peak_{};
    RunId run_ = kNoRun;  // of the job, at the tick before
};

// What is judged of a target: what cannot be reclaimed, and what has been swapped out; where the target is not a cgroup
// of its own, the anonymous memory of its processes, each page once.
Bytes judged_memory(const TargetSnapshot& target);

}  // namespace memscope
