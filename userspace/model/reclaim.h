#pragma once
#include <cstdint>
#include <map>

#include "base/units.h"
#include "model/processes/nesting.h"

namespace memscope {

// What threads have waited because they had to free memory before they got any: the sum over threads, so that it can
// be more than the time that passed.
struct ReclaimStalls {
    Seconds memcg{};   // at the limit of a cgroup
    Seconds direct{};  // because the machine was short
    std::uint64_t stalls = 0;

    Seconds total() const { return memcg + direct; }
};

// The stalls of every target and of what lies inside it. They never go down, whichever of the inner targets ends.
class StallLedger {
  public:
    // `counted`: what the kernel has booked to that target, and to none inside it, since it is watched.
    void book(CgroupId target, const ReclaimStalls& counted, const Nesting& nesting);
    void forget(CgroupId target);
    ReclaimStalls of(CgroupId target) const;

  private:
    std::map<CgroupId, ReclaimStalls> counted_;  // when it was last booked
    std::map<CgroupId, ReclaimStalls> sums_;
};

}  // namespace memscope
