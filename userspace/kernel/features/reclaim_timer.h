#pragma once
#include <memory>
#include <optional>

#include "kernel/features/kernel_feature.h"
#include "model/processes/process.h"
#include "model/reclaim.h"

namespace memscope {

// Time that threads of a target lose in reclaim, booked by target in the kernel.
class ReclaimTimer : public KernelFeature {
  public:
    static constexpr std::string_view kName = "reclaim";
    static Result<std::unique_ptr<ReclaimTimer>> start(const Plan& plan, const FeatureSettings& settings);
    ~ReclaimTimer() override;

    // Called before ProcessTree watches the target: the kernel counts only for targets that are in this map.
    Status watch(CgroupId target) override;
    void unwatch(CgroupId target) override;

    std::optional<ReclaimStalls> read(CgroupId target) const;  // since watch(); nothing for one that is not watched
    // Of a thread whose end of reclaim was not told there is an entry that nobody takes away: those that began before
    // that moment (boot clock) are forgotten.
    void forget_begun_before(std::uint64_t boot_ns);

    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    explicit ReclaimTimer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
