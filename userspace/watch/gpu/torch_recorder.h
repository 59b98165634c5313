#pragma once
#include <map>
#include <set>
#include <vector>

#include "kernel/session.h"
#include "model/gpu/gpu_account.h"
#include "model/snapshot.h"
#include "watch/gpu/cuda_recorder.h"
#include "watch/gpu/library_follower.h"

namespace memscope {

// Follows PyTorch's own probes in whatever copies of its library watched processes have mapped, and reads what the
// kernel has booked of tensors. Everything here belongs to the thread of the ticks.
class TorchRecorder {
  public:
    TorchRecorder(std::shared_ptr<ReadHelpers> reads, bool on);

    LibraryFollower& libraries() { return libraries_; }
    const LibraryFollower& libraries() const { return libraries_; }
    // After that of the calls of the driver, by which devices are known.
    void tick(Session& session, const CudaRecorder& calls, const CudaRecorder::Surroundings& around);

    // Puts the tensors of a target's processes to what they hold of their devices. Those of a process are known if all
    // of them were seen; else it has none there.
    void describe(TargetSnapshot& out) const;

    std::uint64_t entries() const { return entries_; }  // in the kernel's books, as of the last tick

  private:
    void read_accounts(TorchProbes& probes, const CudaRecorder& calls, const CudaRecorder::Surroundings& around);

    LibraryFollower libraries_;
    std::uint64_t entries_ = 0;
    std::uint64_t booked_ = 0;           // of those, in accounts of the living
    std::set<CudaProcess> strangers_{};  // that the table of processes did not know at the last tick
    std::map<ProcessId, std::map<GpuId, Bytes>> tensors_{};
};

}  // namespace memscope
