#pragma once
#include <memory>

#include "kernel/plan.h"
#include "kernel/signal.h"

namespace memscope {

// Who was sent which fatal signal by whom, and whom the OOM killer chose: put into the map of last words, which `tree`
// sends when a process ends.
class DeathsSignal {
  public:
    static Result<DeathsSignal> start(const Plan& plan, const SignalSettings& settings);
    DeathsSignal(DeathsSignal&&) noexcept;
    DeathsSignal& operator=(DeathsSignal&&) noexcept;
    ~DeathsSignal();

    Losses losses() const;
    Bytes map_memory() const;

  private:
    struct State;
    explicit DeathsSignal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
