#pragma once
#include <functional>
#include <map>
#include <vector>

#include "model/processes/process_table.h"
#include "model/snapshot.h"

namespace memscope {

// The counters of one target by role. After a process has ended, the counters still include it.
class RoleLedger {
  public:
    RoleCounters& at(const RoleKey& role) { return counters_[role]; }
    Mappings& mappings_at(const RoleKey& role);
    // The pair of role and rank has no series any more. Its counters are added to those of its role without a rank, so
    // that the sums over all ranks never fall.
    void fold_rank(const RoleKey& role);

    const std::map<RoleKey, RoleCounters>& all() const { return counters_; }

  private:
    std::map<RoleKey, RoleCounters> counters_{};
};

// The ledgers of all targets around a process, given the innermost of them. Empty for kNoCgroup.
using LedgersAround = std::function<std::vector<RoleLedger*>(CgroupId innermost)>;

// Adds the changes of the process since its last settle() to the counters of `role`: in every target where the process
// is, and in every target that it has entered or left since.
void count_process(const TrackedProcess& process, const RoleKey& role, const LedgersAround& around);

}  // namespace memscope
