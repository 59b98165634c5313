#pragma once
#include <optional>

#include "kernel/features/reclaim_timer.h"
#include "model/reclaim.h"

namespace memscope {

// Fetches what the kernel has booked of reclaim stalls, and keeps it for the targets around when one ends.
class StallRecorder {
  public:
    // `timer` may be null: then there is nothing to be had of any target.
    void book(const ReclaimTimer* timer, CgroupId target, const Nesting& nesting);
    void forget(CgroupId target) { ledger_.forget(target); }
    std::optional<ReclaimStalls> of(const ReclaimTimer* timer, CgroupId target) const;

    // Now and then: makes room for others where the end of a stall was not told.
    void sweep(ReclaimTimer* timer, std::uint64_t now_boot_ns);

  private:
    StallLedger ledger_;
    std::uint64_t swept_ns_ = 0;  // boot clock
};

}  // namespace memscope
