#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"

namespace memscope::view {

struct Rates {
    std::optional<double> own{};     // bytes per second, of anonymous memory that is held for oneself
    std::optional<double> faults{};  // per second
};

// A few points of the last ten seconds, enough for a rate over them. Time is that of the snapshots.
class Recent {
  public:
    void add(double time, Bytes own, std::uint64_t faults);
    Rates rates() const;  // none before the second point; no fault rate after a counter went back

  private:
    struct Point {
        double time = 0;
        std::uint64_t own = 0;
        std::uint64_t faults = 0;
    };
    std::vector<Point> points_{};  // oldest first, the last one is now
};

}  // namespace memscope::view
