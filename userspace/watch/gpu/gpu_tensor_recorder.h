#pragma once
#include <map>
#include <set>
#include <vector>

#include "kernel/session.h"
#include "model/gpu/gpu_tensor_account.h"
#include "model/snapshot.h"
#include "watch/gpu/cuda_recorder.h"
#include "watch/gpu/library_follower.h"

namespace memscope {

// Follows PyTorch's own probes in all copies of its library that watched processes have mapped, and reads the tensor
// bytes that the BPF programs have counted. Everything here belongs to the thread of the ticks.
class GpuTensorRecorder {
  public:
    GpuTensorRecorder(std::shared_ptr<ReadHelpers> reads, bool on);

    LibraryFollower& libraries() { return libraries_; }
    const LibraryFollower& libraries() const { return libraries_; }
    // Called after CudaRecorder::tick(), because the CUDA calls show which devices a process uses.
    void tick(Session& session, const CudaRecorder& calls, const CudaRecorder::Surroundings& around);

    // Adds the bytes of the tensors of a target's processes to `gpu`. Leaves out processes that had tensors before
    // memscope followed them.
    void describe(const std::vector<Process>& processes, std::optional<TargetGpu>& gpu) const;

    std::uint64_t entries() const { return entries_; }  // of the BPF map of tensors, at the last tick

  private:
    void read_accounts(GpuTensors& probes, const CudaRecorder& calls, const CudaRecorder::Surroundings& around);

    LibraryFollower libraries_;
    std::uint64_t entries_ = 0;
    std::uint64_t counted_ = 0;            // entries that belong to accounts
    std::set<ProcessInstance> unknown_{};  // processes that were not in the process table at the last tick
    std::map<ProcessId, std::map<GpuId, Bytes>> tensors_{};
};

}  // namespace memscope
