#pragma once
#include <map>

#include "model/processes/nesting.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"

namespace memscope {

// The counters of every target by role. Counts stay after a process has exited.
class Ledger {
  public:
    // Adds the changes of a process since the last tick to the counters of its current role.
    void book(const TrackedProcess& process, RoleKey role, const Nesting& nesting);
    void forget(CgroupId target) { counters_.erase(target); }
    // Moves the counters of a role with a rank to the same role without a rank, because the pair has no series any
    // more. So the sums over all ranks never fall.
    void fold_rank(CgroupId target, const RoleKey& role);

    const std::map<RoleKey, RoleCounters>& of(CgroupId target) const;

  private:
    void book_crossings(const TrackedProcess& process, RoleKey role, const Nesting& nesting);
    void book_mappings(const TrackedProcess& process, RoleKey role, const Nesting& nesting);
    RoleCounters& entry(CgroupId target, const RoleKey& role) { return counters_[target][role]; }
    Mappings& mappings_entry(CgroupId target, const RoleKey& role);

    std::map<CgroupId, std::map<RoleKey, RoleCounters>> counters_;
};

}  // namespace memscope
