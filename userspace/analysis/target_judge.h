#pragma once
#include <map>

#include "analysis/growers.h"
#include "analysis/judge.h"
#include "analysis/limits.h"

namespace memscope {

// Judges a target tick by tick: all it holds, the memory of each role, and which limit comes first.
class TargetJudge {
  public:
    explicit TargetJudge(Seconds warmup);

    // Adds what this tick says and fills in what it means. `now` is monotonic, `wall` the same moment since 1970.
    void consider(Seconds now, Seconds wall, TargetSnapshot& target);

  private:
    // A series, and when somebody last added to it.
    struct Scope {
        Judge judge;
        Seconds seen{};
        std::uint64_t processes = 0;  // a window ago, and since when
        Seconds counted{};
    };

    ScopeVerdict verdict_of(const Scope& scope, const std::optional<RoleKey>& role, Seconds to_wall,
                            const TargetSnapshot& target) const;
    void add(Scope& scope, Seconds now, Bytes held, std::uint64_t processes) const;

    Seconds warmup_;
    Scope whole_;
    std::map<RoleKey, Scope> roles_{};
    Growers growers_;
    Limits limits_;
};

// What is judged of a target: what cannot be reclaimed, and what has been swapped out; where the target is not a cgroup
// of its own, the anonymous memory of its processes.
Bytes judged_memory(const TargetSnapshot& target);

}  // namespace memscope
