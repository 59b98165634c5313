#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>

#include "base/units.h"

namespace memscope {

// Whether ticks go on. The watch loop beats at every tick, HTTP threads and the service's watchdog ask. Times are
// given, in nanoseconds of any clock that does not jump.
class Heartbeat {
  public:
    // Longer than a tick takes on a machine that swaps, and than a few ticks are apart.
    static Seconds bound_for(Seconds interval) { return std::max(Seconds{10}, 5 * interval); }
    explicit Heartbeat(Seconds interval) : bound_(bound_for(interval)) {}

    void beat(std::uint64_t now_ns) { last_ns_ = now_ns; }
    // Watching is over, and what is shown does not change any more: no beat is missed from here on.
    void rest() { resting_ = true; }

    // A sentence if there has been no beat for too long. Before the first one nothing is late: starting takes what it
    // takes.
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
