#pragma once
#include <map>

#include "model/processes/nesting.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"

namespace memscope {

// The counters of every target by role. What was counted stays after the process has ended.
class Ledger {
  public:
    // Books what a process did since the last tick to the role it holds at this one.
    void book(const TrackedProcess& process, RoleKey role, const Nesting& nesting);
    void forget(CgroupId target) { counters_.erase(target); }
    // The pair of role and rank has no series any more: its counters go to its role without a rank, so that the sums
    // over all ranks never fall.
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
