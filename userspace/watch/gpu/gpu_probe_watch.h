#pragma once
#include <vector>

#include "model/snapshot.h"
#include "watch/gpu/cuda_recorder.h"
#include "watch/gpu/gpu_tensor_recorder.h"

namespace memscope {

// GPU memory that processes allocate with calls of the CUDA driver, and the part of it that PyTorch's tensors use. Both
// come from user probes; NvmlWatch has the sums of the driver.
class GpuProbeWatch {
  public:
    GpuProbeWatch(const std::shared_ptr<ReadHelpers>& reads, bool calls, bool tensors)
        : calls_(reads, calls), tensors_(reads, calls && tensors) {}

    const CudaRecorder& calls() const { return calls_; }
    const GpuTensorRecorder& tensors() const { return tensors_; }

    void executed(const ProcessId& process);
    void mapped(const LibraryMapped& event, const ProcessTable& processes);
    void check_libraries(Session& session, std::uint64_t now_ns);
    void tick(Session& session, ProcessTable& processes, WatchedTargets& targets, const std::vector<GpuDevice>& devices,
              std::uint64_t now_ns);

    // Adds the GPU memory of the processes of a target to `gpu`, which may already have values from the driver.
    void describe(const std::vector<Process>& processes, std::optional<TargetGpu>& gpu) const;
    void describe(SelfSample& self) const;  // probes and losses
    std::vector<Error> take_refusals();     // libraries that could not be followed, since the last call

  private:
    CudaRecorder calls_;
    GpuTensorRecorder tensors_;
    std::uint64_t revision_ = 0;  // of the process table, when all its processes were followed
};

}  // namespace memscope
