#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// Decides which pairs of role and rank have series of their own: gauges, counters, verdicts. Every rank is a label, and
// a process can set any RANK in its environment. So a target has a fixed number of places for such pairs, and a process
// without a place is counted under its role without a rank. Nested targets share the places of the outermost one.
class RankPlaces {
  public:
    // A pair has about 33 series, so a target has at most about 3,200 series with a rank. This is enough for 16 GPUs
    // and six roles.
    static constexpr std::size_t kMost = 96;
    // A pair without processes keeps its place at least for this time, and longer until another pair needs it: workers
    // come back in the next epoch, and the last values must be scraped.
    static constexpr Seconds kKeep{60};

    explicit RankPlaces(Seconds keep = kKeep) : keep_(keep) {}

    struct Subject {
        CgroupId outermost = kNoCgroup;  // outermost target that contains the process
        RoleKey wanted{};
        bool ended = false;
    };
    // The key under which each process is counted, in the order of the subjects. The subjects are all watched
    // processes, including those that ended since the last call. `now` is on the boot clock.
    std::vector<RoleKey> assign(std::span<const Subject> subjects, Seconds now);

    // True if a process without a place could get one now.
    bool is_due(Seconds now) const;

    // Pairs that lost their place since the last call. The caller must drop everything that it keeps for them.
    using Vacated = std::vector<std::pair<CgroupId, RoleKey>>;  // outermost target, pair
    Vacated take_vacated() { return std::exchange(vacated_, {}); }
    void forget(CgroupId outermost) { targets_.erase(outermost); }

  private:
    struct Place {
        Seconds used{};       // when it last had a process
        bool in_use = false;  // it had a running process at the last assign()
    };
    struct Target {
        std::map<RoleKey, Place> places{};
        bool crowded = false;  // a process got no place at the last assign()
    };

    static bool use(Target& target, const Subject& subject, Seconds now);
    bool has_place(Target& target, const Subject& subject, Seconds now);

    Seconds keep_;
    std::map<CgroupId, Target> targets_{};
    Vacated vacated_{};
};

}  // namespace memscope
