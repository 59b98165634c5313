#pragma once
#include <cstdint>
#include <map>

#include "model/snapshot.h"

namespace memscope {

// The CUDA calls of one target that failed for lack of memory, by role and device. They stay counted after the process
// has ended.
class CudaFailures {
  public:
    void add(const RoleKey& role, const GpuId& device, std::uint64_t failures) { counts_[{role, device}] += failures; }
    void fold_rank(const RoleKey& role);  // as RoleLedger::fold_rank()
    void describe(TargetSnapshot& out) const;

  private:
    std::map<TargetGpu::RoleDevice, std::uint64_t> counts_{};
};

}  // namespace memscope
