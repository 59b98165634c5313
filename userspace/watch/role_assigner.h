#pragma once
#include <vector>

#include "analysis/rank_places.h"
#include "analysis/roles.h"
#include "analysis/slots.h"
#include "model/nesting.h"
#include "model/process_table.h"

namespace memscope {

// Gives processes their roles, ranks and slots. These follow from who is there and what they are, which rarely changes
// from one tick to the next.
class RoleAssigner {
  public:
    explicit RoleAssigner(std::vector<RoleRule> user_rules, Seconds keep_ranks = RankPlaces::kKeep)
        : roles_(std::move(user_rules)), ranks_(keep_ranks) {}

    // `now` is monotonic.
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
