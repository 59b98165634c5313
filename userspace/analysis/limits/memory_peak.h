#pragma once
#include <optional>

#include "model/snapshot.h"

namespace memscope {

// Follows the kernel's high-water mark of a target while it is watched.
class PeakWatch {
  public:
    // Call this once per tick.
    void update(const MemoryState& memory);
    // The high-water mark, if it rose while it was watched and page cache cannot be part of its last rise.
    std::optional<Bytes> reached() const { return reached_; }

  private:
    std::optional<Bytes> before_{};
    bool cached_before_ = false;
    std::optional<Bytes> reached_{};
};

// The memory that a limit should leave room for: `judged` (the highest judged value since the warm-up), or the kernel's
// high-water mark of this run if that is higher, because only the kernel sees a peak between two ticks. The mark
// includes page cache, which needs no room, so it is used only while there is next to no page cache.
Bytes room_for(const TargetSnapshot& target, Bytes judged);

}  // namespace memscope
