#pragma once
#include <memory>

#include "kernel/features/feature.h"
#include "kernel/plan.h"

namespace memscope {

// Who was sent which fatal signal by whom, and whom the OOM killer chose: put into the map of last words, which `tree`
// sends when a process ends.
class FatalSignals {
  public:
    static Result<FatalSignals> start(const Plan& plan, const FeatureSettings& settings);
    FatalSignals(FatalSignals&&) noexcept;
    FatalSignals& operator=(FatalSignals&&) noexcept;
    ~FatalSignals();

    Losses losses() const;
    Bytes map_memory() const;

  private:
    struct State;
    explicit FatalSignals(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
