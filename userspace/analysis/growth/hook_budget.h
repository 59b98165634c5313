#pragma once
#include <functional>

#include "base/units.h"

namespace memscope {

// Whether a hook may stay attached: what it has cost is held against the CPU time of those it hangs on. One that costs
// more than its share is taken off for a while, longer each time.
class HookBudget {
  public:
    enum class Advice { stay, take_off, put_back };

    // `window`: how long its cost is added up. Growth comes in bursts: a start, a validation.
    HookBudget(double share, Seconds window) : share_(share), window_(window), next_pause_(window) {}

    // At every tick: the time, and since the beginning the CPU time of the hook and of the watched processes, which is
    // asked for only when it is needed.
    Advice consider(Seconds now, Seconds hook, const std::function<Seconds()>& watched);
    bool is_off() const { return off_until_ > Seconds{0}; }

  private:
    double share_;
    Seconds window_;
    Seconds window_began_{-1};
    Seconds hook_then_{};
    Seconds watched_then_{};
    Seconds off_until_{};
    Seconds next_pause_;
};

}  // namespace memscope
