#pragma once
#include <memory>
#include <optional>

#include "kernel/features/feature.h"
#include "kernel/plan.h"
#include "model/processes/process.h"
#include "model/reclaim.h"

namespace memscope {

// Time that threads of a target lose in reclaim, booked by target in the kernel.
class ReclaimTimer {
  public:
    static Result<ReclaimTimer> start(const Plan& plan, const FeatureSettings& settings);
    ReclaimTimer(ReclaimTimer&&) noexcept;
    ReclaimTimer& operator=(ReclaimTimer&&) noexcept;
    ~ReclaimTimer();

    Status watch(CgroupId target);  // to be called before the target is watched: nothing is booked without it
    void unwatch(CgroupId target);

    std::optional<ReclaimStalls> read(CgroupId target) const;  // since watch(); nothing for one that is not watched
    // Of a thread whose end of reclaim was not told there is an entry that nobody takes away: those that began before
    // that moment (boot clock) are forgotten.
    void forget_begun_before(std::uint64_t boot_ns);

    Losses losses() const;
    Bytes map_memory() const;

  private:
    struct State;
    explicit ReclaimTimer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
