#pragma once
#include <memory>

#include "kernel/kernel_feature.h"

namespace memscope {

// Records which process sent a fatal signal to which process, and which processes the OOM killer chose. The programs
// write this to the map `death_evidence`, and ProcessTree sends it when the process exits.
class FatalSignals : public KernelFeature {
  public:
    static constexpr std::string_view kName = "deaths";
    static Result<std::unique_ptr<FatalSignals>> start(const Plan& plan, const FeatureSettings& settings);
    ~FatalSignals() override;

    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    explicit FatalSignals(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
