#pragma once
#include <map>
#include <vector>

#include "model/snapshot.h"
#include "watch/clock.h"

namespace memscope {

// Targets that were removed right after somebody in them had died, as a cgroup often is: how they ended must be seen
// nevertheless.
class EndedTargets {
  public:
    explicit EndedTargets(Seconds linger) : linger_(linger) {}

    // As it is shown at this tick; its processes are not kept.
    void remember(CgroupId id, TargetSnapshot& shown);
    // It is gone. `last` has its name and its deaths since the last tick; without any it is just forgotten.
    void end(CgroupId id, TargetSnapshot last, const Now& now);
    // Puts them behind the living: once with their deaths, then their last values until a scrape has surely come by.
    void show(Snapshot& snapshot, const Now& now);

  private:
    struct Ended {
        TargetSnapshot last{};
        std::uint64_t until_ns = 0;  // boot clock
    };

    Seconds linger_;
    std::map<CgroupId, TargetSnapshot> shown_{};
    std::vector<Ended> ended_{};
};

}  // namespace memscope
