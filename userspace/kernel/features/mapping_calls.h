#pragma once
#include <memory>

#include "kernel/kernel_feature.h"

namespace memscope {

// Counts system calls that map and unmap memory, in the map of mapped bytes that ProcessTree and TaskScan share.
class MappingCalls : public KernelFeature {
  public:
    static constexpr std::string_view kName = "memory";
    static Result<std::unique_ptr<MappingCalls>> start(const Plan& plan, const FeatureSettings& settings);
    ~MappingCalls() override;

    // The programs run at every system call of the host. To measure their cost, they can be detached and attached
    // again.
    Status resume();
    void pause();

    bool uses(std::string_view hook) const override;
    Losses losses() const override;
    Bytes map_memory() const override;

  private:
    struct State;
    explicit MappingCalls(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace memscope
