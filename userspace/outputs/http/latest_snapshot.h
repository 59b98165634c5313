#pragma once
#include <mutex>

#include "model/snapshot.h"

namespace memscope {

// Holds the latest snapshot. The watch loop publishes it, HTTP threads read it. A reader owns a reference to its
// snapshot, so the values never change while a slow reader uses them.
class LatestSnapshot {
  public:
    void publish(SnapshotPtr snapshot) {
        const std::lock_guard lock(mutex_);
        latest_.swap(snapshot);  // the old snapshot is freed after the lock is released
    }
    SnapshotPtr get() const {
        const std::lock_guard lock(mutex_);
        return latest_;
    }

  private:
    mutable std::mutex mutex_{};
    SnapshotPtr latest_{};
};

}  // namespace memscope
