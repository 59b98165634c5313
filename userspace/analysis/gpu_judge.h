#pragma once
#include <map>
#include <span>
#include <vector>

#include "analysis/judge.h"
#include "model/snapshot.h"

namespace memscope {

// Judges what a target holds of each GPU, and the host memory it has pinned.
class GpuJudge {
  public:
    explicit GpuJudge(Seconds warmup) : warmup_(warmup) {}

    void add(Seconds now, const TargetSnapshot& target);
    // Of those that had a sample at `now`, by id, then pinned memory. The limit is what the target may reach before the
    // device is full, so what others hold there counts. `to_wall` leads from the clock of samples to that of the wall.
    std::vector<ScopeVerdict> verdicts(Seconds now, Seconds to_wall, std::span<const GpuDevice> devices) const;

  private:
    // What the driver says counts what was taken before we watched, and contexts; where it says nothing, the calls of
    // processes do. A series stays with what it began with: a change from one to the other would be a step.
    enum class Source { driver, calls };
    struct Held {
        Judge judge;
        Source source = Source::driver;
        Bytes latest{};
        Seconds seen{};
    };

    void add(Held& held, Seconds now, Bytes bytes) const;

    Seconds warmup_;
    std::map<GpuId, Held> gpus_{};
    std::optional<Held> pinned_{};
};

}  // namespace memscope
