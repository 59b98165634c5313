#pragma once
#include <vector>

#include "analysis/roles.h"
#include "analysis/slots.h"
#include "model/process_table.h"

namespace memscope {

// Gives processes their roles, ranks and slots. These follow from who is there and what they are, which rarely changes
// from one tick to the next.
class RoleAssigner {
  public:
    explicit RoleAssigner(std::vector<RoleRule> user_rules) : roles_(std::move(user_rules)) {}

    void assign(ProcessTable& processes);

  private:
    void assign_slots(const std::vector<TrackedProcess*>& all);

    RoleBook roles_;
    SlotBook slots_{};
    std::uint64_t decided_revision_ = 0;  // of the process table, when the roles were decided
};

}  // namespace memscope
