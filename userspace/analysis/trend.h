#pragma once
#include <deque>
#include <optional>

#include "base/units.h"

namespace memscope {

// A steady rise that is still going on.
struct SteadyRise {
    double rate = 0;   // bytes per second
    Seconds window{};  // how long it was observed
};

// Extrapolates the last 10 to 60 s of a size. It needs no verdict, so it works for a job that memscope met shortly
// before its limit. It is made for the last minutes only: it knows nothing of spikes, which the caller has to exclude.
class Trend {
  public:
    static constexpr Seconds kLongest{60};
    static constexpr Seconds kShortest{10};

    // Time must not run backwards.
    void add(Seconds now, Bytes held);
    void clear() { points_.clear(); }

    // The steady rise that takes `room` more bytes within `horizon`, and within twice the time for which it was
    // observed: an extrapolation by more than that would raise alarms about noise. Nothing where the size does not rise
    // steadily, where it fell back, where it rose in one jump, or where the rise has ended.
    std::optional<SteadyRise> reaching(Bytes room, Seconds horizon) const;

    // Mean rate over the last `window`, bytes per second; 0 before the second sample.
    double mean_rate(Seconds window) const;

  private:
    struct Point {
        double at;  // seconds
        double bytes;
    };
    std::optional<SteadyRise> rise_over(Seconds window) const;

    std::deque<Point> points_{};  // at most 121 of the last 60 s, oldest first
};

}  // namespace memscope
