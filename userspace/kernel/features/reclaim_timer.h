#pragma once
#include <memory>
#include <optional>

#include "kernel/kernel_feature.h"
#include "model/processes/process.h"
#include "model/reclaim.h"

namespace memscope {

// Reclaim stalls of the threads of a target, counted per target in the kernel.
class ReclaimTimer : public KernelFeature {
  public:
    static constexpr std::string_view kName = "reclaim";
    static Result<std::unique_ptr<ReclaimTimer>> start(const Plan& plan, const FeatureSettings& settings);
    ~ReclaimTimer() override;

    // Called before ProcessTree watches the target, because the BPF programs count only for targets in this map.
    Status watch(CgroupId target) override;
    void unwatch(CgroupId target) override;

    std::optional<ReclaimStalls> read(CgroupId target) const;  // since watch(); `nullopt` if it is not watched
    // Deletes stalls that began before this time (boot clock). If the end event of a stall was missed, no event would
    // ever delete its entry.
    void forget_begun_before(std::uint64_t boot_ns);

    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    explicit ReclaimTimer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
