#pragma once
#include <vector>

#include "analysis/roles/roles.h"
#include "analysis/roles/slots.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/clock.h"
#include "watch/targets/target_state.h"

namespace memscope {

// The process as a Snapshot shows it. The joined command line is kept with the tracked process.
Process shown(TrackedProcess& tracked, const Now& now);

// Gives all processes their roles, ranks and slots. These depend on which processes exist and which programs they
// execute. Both rarely change from one tick to the next.
class RoleAssigner {
  public:
    explicit RoleAssigner(std::vector<RoleRule> user_rules) : roles_(std::move(user_rules)) {}

    // `now` is on the boot clock. If a pair of role and rank has lost its place (see RankPlaces), it is folded in all
    // targets that share the place.
    void assign(ProcessTable& processes, WatchedTargets& targets, Seconds now);

    // Number of processes that are counted without their rank, because their target has too many ranks.
    std::uint64_t folded_ranks() const { return folded_ranks_; }

  private:
    void assign_keys(const std::vector<TrackedProcess*>& all, const std::vector<RoleKey>& wanted,
                     WatchedTargets& targets, Seconds now);
    void assign_slots(const std::vector<TrackedProcess*>& all);

    RoleDecider roles_;
    SlotAssigner slots_{};
    std::uint64_t folded_ranks_ = 0;
    std::uint64_t decided_revision_ = 0;  // of the process table, when the roles were decided
};

}  // namespace memscope
