#pragma once
#include <deque>
#include <optional>

#include "base/units.h"

namespace memscope {

// By how much a counter rose in the last so many seconds. A bounded number of its values is kept, however often they
// are told; between two of them the rise is taken to have been even.
class CounterWindow {
  public:
    explicit CounterWindow(Seconds length) : length_(length) {}

    // A counter that falls has begun anew, and so does the window. Time that does not advance is ignored.
    void tell(Seconds now, double total);
    void forget() { told_.clear(); }

    // Until the value told last. What was before the first one is not known, and not part of it. Nothing before there
    // are two.
    std::optional<double> rise() const;
    bool is_full() const;  // the values reach back over its whole length

  private:
    struct Told {
        Seconds time{};
        double total = 0;
    };

    Seconds length_;
    std::deque<Told> told_;
};

}  // namespace memscope
