#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>

#include "base/units.h"

namespace memscope {

// Detects that ticks have stopped. The watch loop beats at every tick; HTTP threads and the watchdog of the service
// check it. The caller passes times, in nanoseconds of any clock that does not jump.
class Heartbeat {
  public:
    // Longer than a tick takes on a machine that swaps, and longer than the time between a few ticks.
    static Seconds bound_for(Seconds interval) { return std::max(Seconds{10}, 5 * interval); }
    explicit Heartbeat(Seconds interval) : bound_(bound_for(interval)) {}

    void beat(std::uint64_t now_ns) { last_ns_ = now_ns; }
    // Watching has ended and the snapshot does not change any more, so missing beats are no trouble from now on.
    void rest() { resting_ = true; }

    // A sentence if there has been no beat for too long. Before the first beat there is no trouble, because the start
    // of memscope may take any time.
    std::optional<std::string> trouble(std::uint64_t now_ns) const {
        const std::uint64_t last = last_ns_;
        if (resting_ || last == 0 || now_ns <= last) return std::nullopt;
        const Seconds since(static_cast<double>(now_ns - last) * 1e-9);
        if (since < bound_) return std::nullopt;
        return fmt::format("memscope has not measured anything for {:.0f} s: its ticks have stopped", since.count());
    }

  private:
    Seconds bound_;
    std::atomic<std::uint64_t> last_ns_ = 0;
    std::atomic<bool> resting_ = false;
};

}  // namespace memscope
