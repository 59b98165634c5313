#pragma once
#include <cstdint>
#include <deque>

#include "model/snapshot.h"

namespace memscope {

// Some snapshots of the last minute, the further back the further apart: at most twenty of them at any interval.
class RecentSnapshots {
  public:
    void add(SnapshotPtr snapshot);
    const std::deque<SnapshotPtr>& all() const { return snapshots_; }  // oldest first
    const Snapshot* latest() const { return snapshots_.empty() ? nullptr : snapshots_.back().get(); }

  private:
    std::deque<SnapshotPtr> snapshots_{};
    std::deque<std::uint64_t> slots_{};  // of each
    std::uint64_t slot_ = 0;             // the present one; counted from 1
    double slot_began_ = 0;
};

}  // namespace memscope
