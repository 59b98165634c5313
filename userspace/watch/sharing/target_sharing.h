#pragma once
#include <cstdint>
#include <optional>

#include "analysis/roles/own_memory.h"
#include "analysis/sharing/unsharing_tracker.h"
#include "model/sharing.h"
#include "model/snapshot.h"

namespace memscope {

// The data that SharingRecorder passes to all targets at a tick.
struct SharingTick {
    const SharingReadings* readings = nullptr;  // the latest of every process; never null when it is used
    bool compares = true;                       // sums are compared in this tick, see SharingRecorder
    std::uint64_t compared_scan_ns = 0;         // boot clock: when the scan of the last tick that compares began
    std::uint64_t compared_ns = 0;              // boot clock: the time of that tick
    std::uint64_t scan_ns = 0;                  // boot clock: when the scan of this tick began
};

// Follows which memory the processes of one target share.
class TargetSharing {
  public:
    explicit TargetSharing(Bytes page) : unsharing_(page) {}

    // Once a tick, when the processes and the memory of the target are known. Fills in `sharing` and the inherited
    // memory of each process. If the memory was measured in an ancestor cgroup, also fills in the memory that other
    // processes hold there.
    void describe(const SharingTick& tick, TargetSnapshot& out);

  private:
    Sharing compare(const SharingTick& tick, const TargetSnapshot& target);

    UnsharingTracker unsharing_;
    OwnMemory own_{};
    std::optional<Sharing> latest_{};  // of the last tick that compared sums
};

}  // namespace memscope
