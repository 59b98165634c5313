#pragma once
#include <memory>

#include "kernel/features/feature.h"
#include "kernel/plan.h"

namespace memscope {

// Calls that map and unmap, booked in the map of mapped bytes that tree and tasks share.
class MappingCalls {
  public:
    static Result<MappingCalls> start(const Plan& plan, const FeatureSettings& settings);
    MappingCalls(MappingCalls&&) noexcept;
    MappingCalls& operator=(MappingCalls&&) noexcept;
    ~MappingCalls();

    Status attach();  // start() has done so
    void detach();
    Losses losses() const;
    Bytes map_memory() const;

  private:
    struct State;
    explicit MappingCalls(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
