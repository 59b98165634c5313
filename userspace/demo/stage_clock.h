#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/result.h"
#include "base/units.h"

namespace memscope {

// The scenario's clock, shared with every process that is forked after it was made. It stands at 0 until it is begun,
// which is when the watcher has its first look: nothing of the story is missed while it starts. Where the demo is
// shortened it runs faster than real time. It stops at the end of the scenario.
class StageClock {
  public:
    static Result<StageClock> make(double speed);  // seconds of the scenario in a real one

    void begin(std::uint64_t boot_ns) { *began_ns_ = boot_ns; }  // not 0
    Seconds at(std::uint64_t boot_ns) const;
    double speed() const { return speed_; }

  private:
    using Shared = std::atomic<std::uint64_t>;
    struct Unmap {
        void operator()(Shared* page) const;
    };

    StageClock(std::unique_ptr<Shared, Unmap> page, double speed) : began_ns_(std::move(page)), speed_(speed) {}

    std::unique_ptr<Shared, Unmap> began_ns_;  // 0: not yet
    double speed_;
};

}  // namespace memscope
