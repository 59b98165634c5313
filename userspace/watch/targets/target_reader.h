#pragma once
#include <cstdint>

#include "base/files.h"
#include "kernel/features/reclaim_timer.h"
#include "watch/gpu/cuda_watch.h"
#include "watch/gpu/nvml_watch.h"
#include "watch/growth/growth_recorder.h"
#include "watch/helpers/read_jobs.h"
#include "watch/targets/missed_targets.h"
#include "watch/targets/numa_limits.h"
#include "watch/targets/target_state.h"
#include "watch/tick_readings.h"

namespace memscope {

// Reads what a tick needs to know of each target.
class TargetReader {
  public:
    struct Sources {
        ReadHelpers& helpers;
        ReclaimTimer* stalls;   // null: the kernel has no hooks for reclaim
        const NvmlWatch* gpus;  // null: the user has switched GPUs off
        const CudaWatch& cuda;
        GrowthRecorder* growth;  // null: growth is not followed
    };

    TargetReader(const SysRoot& root, const std::shared_ptr<ReadHelpers>& helpers);

    // Completes `readings`, which have the processes of each target. False: a target has been removed a moment ago.
    bool read(const Sources& sources, WatchedTargets& targets, const MachineReadings& machine,
              ReadingsByTarget& readings);

    MissedTargets& missed() { return missed_; }

  private:
    bool read_memory(TargetState& target, const HostMemory& host, TargetReadings& readings);
    void sweep_stalls(ReclaimTimer& stalls, std::uint64_t now_ns);

    NumaLimits numa_;
    MissedTargets missed_{};
    std::uint64_t swept_ns_ = 0;  // boot clock
};

}  // namespace memscope
