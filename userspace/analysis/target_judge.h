#pragma once
#include <map>

#include "analysis/gpu_judge.h"
#include "analysis/growers.h"
#include "analysis/growth_cause.h"
#include "analysis/judge.h"
#include "analysis/limits.h"
#include "analysis/line_history.h"
#include "analysis/memory_peak.h"

namespace memscope {

// Judges a target tick by tick: all it holds, the memory of each role and GPU, and which limit comes first.
class TargetJudge {
  public:
    explicit TargetJudge(Seconds warmup);

    // Whether it is time to look at the lines that grow: not in every tick, which would cost much and say little.
    bool wants_lines(Seconds now) const { return lines_.is_due(now); }
    // Adds what this tick says and fills in what it means. `now` is monotonic, `wall` the same moment since 1970,
    // `gpus` are those of the machine.
    void consider(Seconds now, Seconds wall, TargetSnapshot& target, std::span<const GpuDevice> gpus = {});

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
    PeakWatch peak_{};
};

// What is judged of a target: what cannot be reclaimed, and what has been swapped out; where the target is not a cgroup
// of its own, the anonymous memory of its processes, each page once.
Bytes judged_memory(const TargetSnapshot& target);

}  // namespace memscope
