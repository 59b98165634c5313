#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// Decides which roles with a rank have series of their own: gauges, counters, verdicts. A process can put any RANK into
// its environment, and every rank is a label. So a target has a fixed number of places for pairs of role and rank;
// processes that find no place are counted under their role without a rank. Targets that lie inside one another share
// the places of the outermost.
class RankPlaces {
  public:
    // A pair has about 33 series, so that a target has at most about 3,200 by rank. Enough for 16 GPUs and six roles.
    static constexpr std::size_t kMost = 96;
    // A pair without processes keeps its place for so long at least, and longer until another pair needs it: workers
    // come back in the next epoch, and the last values must be scraped.
    static constexpr Seconds kKeep{60};

    explicit RankPlaces(Seconds keep = kKeep) : keep_(keep) {}

    struct Subject {
        CgroupId outermost = kNoCgroup;  // target around the process
        RoleKey wanted{};
        bool ended = false;
    };
    // The key that each process is counted under, in their order. All watched processes are among the subjects, those
    // that ended since the last call too. `now` is on the boot clock.
    std::vector<RoleKey> assign(std::span<const Subject> subjects, Seconds now);

    // A process without a place could have one now.
    bool is_due(Seconds now) const;

    // Pairs that lost their place since the last call. Everything that is kept by them is to be given up.
    using Vacated = std::vector<std::pair<CgroupId, RoleKey>>;  // outermost target, pair
    Vacated take_vacated() { return std::exchange(vacated_, {}); }
    void forget(CgroupId outermost) { targets_.erase(outermost); }

  private:
    struct Place {
        Seconds used{};       // when a process of it was last there
        bool in_use = false;  // a process of it lived at the last assign()
    };
    struct Target {
        std::map<RoleKey, Place> places{};
        bool crowded = false;  // a process found no place at the last assign()
    };

    static bool use(Target& target, const Subject& subject, Seconds now);
    bool has_place(Target& target, const Subject& subject, Seconds now);

    Seconds keep_;
    std::map<CgroupId, Target> targets_{};
    Vacated vacated_{};
};

}  // namespace memscope
