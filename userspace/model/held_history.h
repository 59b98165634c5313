#pragma once
#include <deque>
#include <vector>

#include "base/units.h"

namespace memscope {

struct HeldPoint {
    double time = 0;  // seconds since 1970
    Bytes held{};     // what is judged: unreclaimable, and swapped out
    Bytes usage{};    // with what could be reclaimed
};

// The last half hour of a target for whoever asks later what came before: the last minute as it was sampled, the time
// before in bins that keep the highest, since it is a peak that kills. At most 301 points.
class HeldHistory {
  public:
    static constexpr std::size_t kFine = 60;
    static constexpr std::size_t kBins = 240;
    static constexpr double kSpan = 1800;  // seconds
    static constexpr double kBinWidth = kSpan / kBins;

    // Times that run back (somebody set the clock) begin a new history.
    void add(const HeldPoint& point);
    std::vector<HeldPoint> points() const;  // oldest first

  private:
    void to_bins(const HeldPoint& point);

    std::deque<HeldPoint> fine_{};
    std::deque<HeldPoint> bins_{};  // each the highest point of its bin
};

}  // namespace memscope
