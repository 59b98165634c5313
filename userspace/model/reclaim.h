#pragma once
#include <cstdint>
#include <map>

#include "base/units.h"
#include "model/processes/nesting.h"

namespace memscope {

// Reclaim stalls of threads. The times are sums over threads, so they can be more than the time that has passed.
struct ReclaimStalls {
    Seconds memcg{};   // at the limit of a cgroup
    Seconds direct{};  // because the host was short of memory
    std::uint64_t stalls = 0;

    Seconds total() const { return memcg + direct; }
};

// The stalls of every target, targets inside it included. They do not fall when an inner target ends.
class StallLedger {
  public:
    // `counted`: the stalls that the kernel has counted for this target since it is watched, without targets inside it.
    void book(CgroupId target, const ReclaimStalls& counted, const Nesting& nesting);
    void forget(CgroupId target);
    ReclaimStalls of(CgroupId target) const;

  private:
    std::map<CgroupId, ReclaimStalls> counted_;  // at the last call of book()
    std::map<CgroupId, ReclaimStalls> sums_;
};

}  // namespace memscope
