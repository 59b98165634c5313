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

// The data that the stages of a tick pass to each other: plain values, without file descriptors. WatchState contains
// the stages.
namespace memscope {

// All processes of all targets at one moment, as the kernel's task iterator lists them.
struct TaskList {
    std::uint64_t began_ns = 0;  // boot clock: when the scan began
    std::span<const ScannedTask> tasks{};
};

// Readings of the whole machine.
struct MachineReadings {
    Now now{};
    HostMemory host{};
    std::vector<GpuDevice> gpus{};
    SharingTick sharing{};
    bool counts_stalls = false;  // the kernel has hooks for reclaim
};

// Readings of one target.
struct TargetReadings {
    std::vector<Process> processes{};     // by pid, with roles; from the process table
    std::optional<MemoryState> memory{};  // none: it could not be read, and the target is not shown in this tick
    std::optional<ShmUsage> shm{};
    std::optional<TargetGpu> gpu{};                  // from the GPU driver and from CUDA calls; without failed calls
    std::optional<ReclaimStalls> stalls{};           // counted by the kernel for this target, without targets inside it
    std::optional<std::vector<LineGrowth>> lines{};  // none: not looked up in this tick
};
using ReadingsByTarget = std::map<CgroupId, TargetReadings>;

}  // namespace memscope
