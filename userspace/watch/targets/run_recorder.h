#pragma once
#include <cstdint>

#include "model/processes/process_table.h"
#include "watch/targets/target_state.h"

namespace memscope {

// Brings the runs of all targets up to date with the process table.
class RunRecorder {
  public:
    // In every tick, after all processes have their roles and before their growth is counted.
    void update(const ProcessTable& processes, WatchedTargets& targets);
    void end_tick(WatchedTargets& targets) { targets.run_numbers().end_tick(); }

  private:
    std::uint64_t revision_ = 0;  // of the process table, when it was last compared with the runs
};

}  // namespace memscope
