#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/clock.h"
#include "watch/sharing/target_sharing.h"

// What the stages of a tick hand to one another: plain values, without file descriptors. WatchState has the stages that
// use them.
namespace memscope {

// All processes of all targets at one moment, as the kernel's task iterator lists them.
struct TaskList {
    std::uint64_t began_ns = 0;  // boot clock: when the scan began
    std::span<const ScannedTask> tasks{};
};

// Of the whole machine.
struct MachineReadings {
    Now now{};
    HostMemory host{};
    std::vector<GpuDevice> gpus{};
    SharingTick sharing{};
    bool counts_stalls = false;  // the kernel has hooks for reclaim
};

// Of one target.
struct TargetReadings {
    std::vector<Process> processes{};     // by pid, with roles; from the process table
    std::optional<MemoryState> memory{};  // none: it could not be read, and the target is not shown in this tick
    std::optional<ShmUsage> shm{};
    std::optional<TargetGpu> gpu{};         // of the GPU driver and of the calls of its processes, without failed calls
    std::optional<ReclaimStalls> stalls{};  // what the kernel has counted for this target, and for none inside it
    std::optional<std::vector<LineGrowth>> lines{};  // none: not looked up in this tick
};
using ReadingsByTarget = std::map<CgroupId, TargetReadings>;

}  // namespace memscope
