#pragma once
#include <vector>

#include "model/snapshot.h"
#include "watch/clock.h"

namespace memscope {

// Targets that have been removed. A cgroup is often removed right after a process in it has died, but its last values
// and deaths must still be shown.
class EndedTargets {
  public:
    explicit EndedTargets(Seconds linger) : linger_(linger) {}

    // The target has been removed. `shown`: its values at the last tick that showed it, without processes and deaths.
    // `last`: its name, run and counters at its end, and its deaths since the last tick.
    void end(TargetSnapshot shown, TargetSnapshot last, const Now& now);
    // Adds the ended targets in which a process has died: once with the deaths since the last tick, then with their
    // last values for the linger time, so that a scrape sees them. `nothing_else`: no target is left to be watched.
    // Then the other ended targets are added, too, because they are the result of the whole run.
    void show(Snapshot& snapshot, const Now& now, bool nothing_else);

  private:
    struct Ended {
        TargetSnapshot last{};
        std::uint64_t until_ns = 0;  // boot clock
    };

    Seconds linger_;
    std::vector<Ended> ended_{};
};

}  // namespace memscope
