#pragma once
#include <cstdint>
#include <deque>

#include "model/snapshot.h"

namespace memscope {

// Some snapshots of the last minute, the further back the further apart: at most twenty of them at any interval. With
// thousands of targets a snapshot has tens of megabytes, so that fewer of them are kept.
class RecentSnapshots {
  public:
    static constexpr Bytes kMostBytes{std::uint64_t{48} << 20};  // of all but the two latest, which are always kept

    void add(SnapshotPtr snapshot);
    const std::deque<SnapshotPtr>& all() const { return snapshots_; }  // oldest first
    const Snapshot* latest() const { return snapshots_.empty() ? nullptr : snapshots_.back().get(); }

  private:
    void drop_by_size();

    std::deque<SnapshotPtr> snapshots_{};
    std::deque<std::uint64_t> slots_{};  // of each
    std::uint64_t slot_ = 0;             // the present one; counted from 1
    double slot_began_ = 0;
};

// An estimate of the memory of a snapshot. It leaves out strings other than explanations, GPUs and deaths.
Bytes approximate_size(const Snapshot& snapshot);

}  // namespace memscope
