#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/targets/target_state.h"

namespace memscope {

// Brings the runs of all targets up to date with the process table, and knows which runs may still be needed.
class RunRecorder {
  public:
    // In every tick, after all processes have their roles and before their growth is counted.
    void look_at(const ProcessTable& processes, WatchedTargets& targets);
    // These runs are shown until the next end_tick(): of a target that has ended since the last tick.
    void show(const TargetSnapshot& target);
    // `snapshot` has all targets of the tick, those that have ended too.
    void end_tick(const Snapshot& snapshot, WatchedTargets& targets);

    // Runs whose growth may still be needed: the current one of each target, the one before, whose last processes may
    // end late, and those that the last tick shows, because a report of them may be asked for.
    std::set<RunId> kept(const WatchedTargets& targets) const;

  private:
    std::set<RunId> shown_{};     // at the last tick, and of targets that were removed since
    std::uint64_t revision_ = 0;  // of the process table, when it was last compared with the runs
};

// The runs that a process belongs to: one for each target around it.
std::vector<RunId> runs_around(const TrackedProcess& process, WatchedTargets& targets);

}  // namespace memscope
