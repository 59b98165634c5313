#pragma once
#include <deque>

#include "model/snapshot.h"

namespace memscope {

// Some snapshots of the last minute, the further back the further apart: about ten of them at any interval.
class RecentSnapshots {
  public:
    void add(SnapshotPtr snapshot);
    const std::deque<SnapshotPtr>& all() const { return snapshots_; }  // oldest first
    const Snapshot* latest() const { return snapshots_.empty() ? nullptr : snapshots_.back().get(); }

  private:
    std::deque<SnapshotPtr> snapshots_{};
};

}  // namespace memscope
