#pragma once
#include <optional>

#include "model/snapshot.h"

namespace memscope {

// Follows the kernel's high-water mark of a target while it is watched.
class PeakWatch {
  public:
    // Once a tick.
    void look_at(const MemoryState& memory);
    // The mark, if it rose while it was watched and page cache had no part in it at any such rise.
    std::optional<Bytes> reached() const { return reached_; }

  private:
    std::optional<Bytes> before_{};
    bool cached_before_ = false;
    std::optional<Bytes> reached_{};
};

// How much memory a limit should leave room for: `judged` (the highest judged value since the warm-up), or the kernel's
// mark of this run where that is higher, because a mark between two ticks is seen by the kernel alone. The mark counts
// page cache, which needs no room, so it is used only while there is next to none.
Bytes room_for(const TargetSnapshot& target, Bytes judged);

}  // namespace memscope
