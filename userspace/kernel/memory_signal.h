#pragma once
#include <memory>

#include "kernel/plan.h"
#include "kernel/signal.h"

namespace memscope {

// Calls that map and unmap, booked in the map of mapped bytes that tree and tasks share.
class MemorySignal {
  public:
    static Result<MemorySignal> start(const Plan& plan, const SignalSettings& settings);
    MemorySignal(MemorySignal&&) noexcept;
    MemorySignal& operator=(MemorySignal&&) noexcept;
    ~MemorySignal();

    Status attach();  // start() has done so
    void detach();
    Losses losses() const;
    Bytes map_memory() const;

  private:
    struct State;
    explicit MemorySignal(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
