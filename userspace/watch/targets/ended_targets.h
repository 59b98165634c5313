#pragma once
#include <map>
#include <vector>

#include "model/snapshot.h"
#include "watch/clock.h"

namespace memscope {

// Targets that were removed, as a cgroup often is right after somebody in it has died: how they ended must be seen
// nevertheless.
class EndedTargets {
  public:
    explicit EndedTargets(Seconds linger) : linger_(linger) {}

    // As it is shown at this tick; its processes are not kept.
    void remember(CgroupId id, TargetSnapshot& shown);
    // It is gone. `last` has its name, its counters, and its deaths since the last tick.
    void end(CgroupId id, TargetSnapshot last, const Now& now);
    // Puts those in which somebody ever died behind the living: once with the latest deaths, then their last values
    // until a scrape has surely come by. The others too when nothing else is watched: they are how all of it ended.
    void show(Snapshot& snapshot, const Now& now, bool nothing_else);

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
