#pragma once
#include <functional>

#include "base/units.h"

namespace memscope {

// Decides whether a hook may stay attached, by comparing its cost to the CPU time of the processes that it slows down.
// A hook that costs more than its share is detached for a while, longer each time.
class HookBudget {
  public:
    enum class Advice { stay, detach, attach };

    // `window`: the time over which the cost is summed up. It is long because growth comes in bursts: a start, a
    // validation.
    HookBudget(double share, Seconds window) : share_(share), window_(window), next_pause_(window) {}

    // A window ends early if the cost so far is too high for the whole window, at the rate at which the processes have
    // used CPU time so far. Without that, an expensive hook would slow down the processes for a whole window.
    // Call this at every tick with the time and the CPU time of the hook since the start. `watched` returns the CPU
    // time of the watched processes since the start and is called only when it is needed.
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
