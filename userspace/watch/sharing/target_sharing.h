#pragma once
#include <cstdint>
#include <optional>

#include "analysis/roles/own_memory.h"
#include "analysis/sharing/sharing.h"
#include "model/sharing.h"
#include "model/snapshot.h"

namespace memscope {

// What the sharing stage of a tick hands to all targets.
struct SharingTick {
    const SharingReadings* readings = nullptr;  // the latest of every process; never null when it is used
    bool compares = true;                       // sums are compared in this tick: with many processes not in every tick
    std::uint64_t compared_scan_ns = 0;         // boot clock: when the scan of the last tick that compares began
    std::uint64_t compared_ns = 0;              // boot clock: the time of that tick
    std::uint64_t scan_ns = 0;                  // boot clock: when the scan of this tick began
};

// Follows which memory the processes of one target share.
class TargetSharing {
  public:
    explicit TargetSharing(Bytes page) : unsharing_(page) {}

    // Once a tick, when the processes and the memory of the target are known. Fills in `sharing`, how much of its
    // memory each process has inherited, and, where the memory was measured in an ancestor, what other processes hold
    // of it.
    void describe(const SharingTick& tick, TargetSnapshot& out);

  private:
    Sharing compare(const SharingTick& tick, const TargetSnapshot& target);

    UnsharingTracker unsharing_;
    OwnMemory own_{};
    std::optional<Sharing> latest_{};  // of the last tick that compared
};

}  // namespace memscope
