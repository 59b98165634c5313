#pragma once
#include <vector>

#include "analysis/roles/rank_places.h"
#include "analysis/roles/roles.h"
#include "analysis/roles/slots.h"
#include "model/processes/nesting.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/clock.h"

namespace memscope {

// As people and scripts see it. The joined command is kept with the process.
Process shown(TrackedProcess& tracked, const Now& now);

// Gives processes their roles, ranks and slots. These follow from who is there and what they are, which rarely changes
// from one tick to the next.
class RoleAssigner {
  public:
    explicit RoleAssigner(std::vector<RoleRule> user_rules, Seconds keep_ranks = RankPlaces::kKeep)
        : roles_(std::move(user_rules)), ranks_(keep_ranks) {}

    // `now` is on the boot clock.
    void assign(ProcessTable& processes, const Nesting& nesting, Seconds now);

    // Pairs of role and rank that lost their place since the last call, see RankPlaces.
    RankPlaces::Vacated take_vacated() { return ranks_.take_vacated(); }
    void forget(CgroupId target) { ranks_.forget(target); }
    // Processes that are counted without their rank, because their target has too many.
    std::uint64_t folded_ranks() const { return folded_ranks_; }

  private:
    void assign_keys(const std::vector<TrackedProcess*>& all, const std::vector<RoleKey>& wanted,
                     const Nesting& nesting, Seconds now);
    void assign_slots(const std::vector<TrackedProcess*>& all);

    RoleBook roles_;
    SlotBook slots_{};
    RankPlaces ranks_;
    std::uint64_t folded_ranks_ = 0;
    std::uint64_t decided_revision_ = 0;  // of the process table, when the roles were decided
};

}  // namespace memscope
