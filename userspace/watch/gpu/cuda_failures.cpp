#include "watch/gpu/cuda_failures.h"

namespace memscope {

void CudaFailures::fold_rank(const RoleKey& role) {
    for (auto each = counts_.lower_bound({role, GpuId{}}); each != counts_.end() && each->first.first == role;) {
        counts_[{{role.role, std::nullopt}, each->first.second}] += each->second;
        each = counts_.erase(each);
    }
}

void CudaFailures::describe(TargetSnapshot& out) const {
    if (counts_.empty()) return;
    if (!out.gpu) out.gpu.emplace();
    out.gpu->failures = counts_;
}

}  // namespace memscope
