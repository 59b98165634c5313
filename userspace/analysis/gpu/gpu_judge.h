#pragma once
#include <map>
#include <span>
#include <vector>

#include "analysis/verdict/judge.h"
#include "model/snapshot.h"

namespace memscope {

// Judges what a target holds of each GPU, and the host memory it has pinned.
class GpuJudge {
  public:
    explicit GpuJudge(Seconds warmup) : warmup_(warmup) {}

    void add(Seconds now, const TargetSnapshot& target);
    // Of those that had a sample at `now`, by id, then pinned memory. The limit of a GPU is what the target holds plus
    // what is free there. `to_wall` leads from the clock of samples to that of the wall.
    std::vector<ScopeVerdict> verdicts(Seconds now, Seconds to_wall, std::span<const GpuDevice> devices) const;

  private:
    // NVML decides where it tells anything: its sums contain contexts and what was taken before memscope watched. The
    // sums of CUDA calls are judged only while NVML tells nothing. The two differ by gigabytes, so they are never in
    // one series: the first answer of NVML begins a new series, and while NVML is silent a series of it gets no
    // samples.
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
