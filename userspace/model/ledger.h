#pragma once
#include <map>

#include "model/nesting.h"
#include "model/process_table.h"
#include "model/snapshot.h"

namespace memscope {

// The counters of every target by role. What was booked stays, whoever did it and however it ended.
class Ledger {
  public:
    // Books what a process did since the last tick to the role it holds at this one.
    void book(const TrackedProcess& process, RoleKey role, const Nesting& nesting);
    void forget(CgroupId target) { counters_.erase(target); }

    const std::map<RoleKey, RoleCounters>& of(CgroupId target) const;
    // Bookings whose rank was left out because a target had more roles and ranks than a metric may have series.
    std::uint64_t folded_ranks() const { return folded_ranks_; }

  private:
    void book_crossings(const TrackedProcess& process, RoleKey role, const Nesting& nesting);
    void book_mappings(const TrackedProcess& process, RoleKey role, const Nesting& nesting);
    RoleCounters& entry(CgroupId target, RoleKey role);
    Mappings& mappings_entry(CgroupId target, RoleKey role);

    std::map<CgroupId, std::map<RoleKey, RoleCounters>> counters_;
    std::uint64_t folded_ranks_ = 0;
};

}  // namespace memscope
