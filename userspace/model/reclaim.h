#pragma once
#include <cstdint>

#include "base/units.h"

namespace memscope {

// Time that threads have waited because they had to free memory before the kernel gave them any. It is summed over
// threads, so that it can be more than the time that passed.
struct ReclaimStalls {
    Seconds memcg{};   // at the limit of a cgroup
    Seconds direct{};  // because the host was short of memory
    std::uint64_t stalls = 0;

    Seconds total() const { return memcg + direct; }
};

// The stalls of one target and of all targets inside it. The kernel counts a stall only for the innermost target. The
// caller adds the result of rise() to the counters of this target and of all targets around it. So the sum of an outer
// target does not fall when an inner target ends.
class StallCounter {
  public:
    // `counted`: the stalls that the kernel has counted for this target since it is watched, without the stalls of
    // targets inside it. Returns the rise since the last call.
    ReclaimStalls rise(const ReclaimStalls& counted);
    void add(const ReclaimStalls& rise);
    const ReclaimStalls& sum() const { return sum_; }

  private:
    ReclaimStalls counted_{};  // at the last call of rise()
    ReclaimStalls sum_{};
};

}  // namespace memscope
