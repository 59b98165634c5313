#pragma once
#include <map>
#include <span>
#include <vector>

#include "analysis/verdict/judge.h"
#include "model/snapshot.h"

namespace memscope {

// Judges the memory of a target on each GPU and its pinned host memory.
class GpuJudge {
  public:
    explicit GpuJudge(Seconds warmup) : warmup_(warmup) {}

    void add(Seconds now, const TargetSnapshot& target);
    // The verdicts of the GPUs that had a sample at `now`, by id, then of pinned memory. The limit of a GPU is the
    // memory that the target holds plus the free memory. `to_wall` is the difference between the clock of samples and
    // wall-clock time.
    std::vector<ScopeVerdict> verdicts(Seconds now, Seconds to_wall, std::span<const GpuDevice> devices) const;

    const Series* series(const GpuId& gpu) const;  // of a GPU that has a verdict; null: there is none

  private:
    // Uses the figures of NVML if there are any, because they include contexts and memory that was allocated before
    // watching began. The sums of CUDA calls are judged only while NVML reports nothing. The two sources differ by
    // gigabytes, so one series never mixes them: the first answer of NVML begins a new series, and a series from NVML
    // gets no samples while NVML does not answer.
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
