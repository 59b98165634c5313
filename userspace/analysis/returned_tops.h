#pragma once
#include <deque>
#include <optional>

#include "base/units.h"

namespace memscope {

// The tops from which a size came back by itself. A verdict knows spikes after three of them and some minutes; this is
// for the time before: a rise to a top from which the size came back twice is no news.
class ReturnedTops {
  public:
    // Time must not run backwards.
    void add(Seconds now, Bytes held);
    void clear() { *this = {}; }

    // The level from which the size came back at least twice within the last half hour.
    std::optional<Bytes> usual() const;

  private:
    struct Top {
        Seconds at{};
        Bytes held{};
    };
    std::deque<Top> tops_{};      // oldest first; of the last half hour, and the newest few
    std::optional<Top> peak_{};   // the highest since the size last came back
    std::optional<Bytes> low_{};  // the lowest since then, while it still falls
};

}  // namespace memscope
