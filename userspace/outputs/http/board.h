#pragma once
#include <mutex>

#include "model/snapshot.h"

namespace memscope {

// Where the latest snapshot hangs for everyone to see. The watch loop publishes, HTTP threads read; a reader
// keeps what it got alive, so a slow one never sees values change under it.
class Board {
  public:
    void publish(SnapshotPtr snapshot) {
        const std::lock_guard lock(mutex_);
        latest_.swap(snapshot);  // the old one is freed after the lock
    }
    SnapshotPtr latest() const {
        const std::lock_guard lock(mutex_);
        return latest_;
    }

  private:
    mutable std::mutex mutex_{};
    SnapshotPtr latest_{};
};

}  // namespace memscope
