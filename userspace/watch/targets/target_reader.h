#pragma once
#include <cstdint>
#include <memory>

#include "base/files.h"
#include "base/result.h"
#include "kernel/features/reclaim_timer.h"
#include "model/snapshot.h"
#include "watch/gpu/gpu_probe_watch.h"
#include "watch/gpu/nvml_watch.h"
#include "watch/growth/growth_recorder.h"
#include "watch/helpers/read_jobs.h"
#include "watch/targets/numa_limits.h"
#include "watch/targets/target_state.h"
#include "watch/tick_readings.h"

namespace memscope {

// Counts the targets that could not be watched or read.
class MissedTargets {
  public:
    void not_watched() { ++not_watched_; }  // the BPF map of targets was full
    // `no_descriptor`: number of targets that a search left out, because no file descriptor was left.
    void refreshed(std::size_t no_descriptor);
    bool lacks_descriptors() const { return not_opened_ > 0; }  // at the last search

    void begin_tick() { not_sampled_ = 0; }
    void not_sampled(const Error& error);  // the target exists, but its memory could not be read

    void describe(SelfSample& self) const;

  private:
    std::uint64_t not_watched_ = 0;
    std::uint64_t unreadable_ = 0;
    std::size_t not_opened_ = 0;        // at the last search, for lack of file descriptors
    std::size_t not_sampled_ = 0;       // at the last tick, for lack of file descriptors
    std::uint64_t no_descriptors_ = 0;  // the sum of all rises of `not_opened_` and of all values of `not_sampled_`
};

// Reads the data of each target that a tick needs.
class TargetReader {
  public:
    struct Sources {
        ReadHelpers& helpers;
        ReclaimTimer* stalls;   // null: the kernel has no hooks for reclaim
        const NvmlWatch* gpus;  // null: the user has switched GPUs off
        const GpuProbeWatch& gpu_probes;
        GrowthRecorder* growth;  // null: growth is not followed
    };

    TargetReader(const SysRoot& root, const std::shared_ptr<ReadHelpers>& helpers);

    // Adds to `readings`, which already contain the processes of each target. False: a target was removed just now.
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
