#pragma once
#include <vector>

#include "model/snapshot.h"
#include "watch/gpu/cuda_recorder.h"
#include "watch/gpu/torch_recorder.h"

namespace memscope {

// What processes take of their GPUs, as they do it: by calls of the CUDA driver, and in it PyTorch's tensors.
class CudaWatch {
  public:
    CudaWatch(const std::shared_ptr<ReadHelpers>& reads, bool calls, bool tensors)
        : calls_(reads, calls), tensors_(reads, calls && tensors) {}

    const CudaRecorder& calls() const { return calls_; }
    const TorchRecorder& tensors() const { return tensors_; }

    void executed(const ProcessId& process);
    void mapped(const ProcessId& process, const ProcessTable& processes);  // one of the libraries, a moment ago
    void look(Session& session, std::uint64_t now_ns);
    void tick(Session& session, ProcessTable& processes, const Nesting& nesting, const std::vector<GpuDevice>& devices,
              std::uint64_t now_ns);

    void describe(CgroupId target, TargetSnapshot& out) const;
    void describe(SelfSample& self) const;  // probes and losses
    void forget(CgroupId target) { calls_.forget(target); }
    void fold_rank(CgroupId target, const RoleKey& role) { calls_.fold_rank(target, role); }
    std::vector<Error> take_refusals();  // of libraries that were to be followed since

  private:
    CudaRecorder calls_;
    TorchRecorder tensors_;
    std::uint64_t revision_ = 0;  // of the process table, when all in it were begun
};

}  // namespace memscope
