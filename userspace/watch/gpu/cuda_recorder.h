#pragma once
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files.h"
#include "kernel/session.h"
#include "model/gpu/cuda_account.h"
#include "model/growth/stack.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "sources/gpu/probed_libraries.h"
#include "watch/gpu/library_follower.h"
#include "watch/targets/target_state.h"

namespace memscope {

// Follows all copies of the CUDA driver library that watched processes have mapped, and reads what the BPF programs
// have counted at its calls. Everything except held() belongs to the thread of the ticks.
class CudaRecorder {
  public:
    CudaRecorder(std::shared_ptr<ReadHelpers> reads, bool on);

    LibraryFollower& libraries() { return libraries_; }
    const LibraryFollower& libraries() const { return libraries_; }
    struct Surroundings {
        const ProcessTable& processes;  // with the processes that have ended since the last tick
        WatchedTargets& targets;
        const std::vector<GpuDevice>& devices;
        std::uint64_t now_ns = 0;  // boot clock
    };
    void check_libraries(Session& session,
                         std::uint64_t now_ns);  // checks processes that mapped a driver since the last call
    void tick(Session& session, const Surroundings& around);

    // Adds the GPU memory of the processes of a target to `gpu`, which may already have values from the driver.
    void describe(const std::vector<Process>& processes, std::optional<TargetGpu>& gpu) const;
    // The device that has this ordinal in the process, as the CUDA calls of the process have shown.
    std::optional<GpuId> device(const ProcessId& process, int ordinal) const;

    // From any thread: the memory that the processes hold, by stack.
    struct Held {
        std::vector<HeldAtStack> stacks{};
        std::int64_t elsewhere = 0;  // allocated without a stack
        std::int64_t lost = 0;       // not counted by stack, because there were too many allocations
    };
    struct HeldPlanes {
        Held gpu{};
        Held pinned{};
    };
    HeldPlanes held(const std::vector<Process>& processes) const;
    std::set<StackId> stacks() const;  // all stacks that hold memory

    std::uint64_t live_entries() const { return live_entries_; }  // of the BPF map of allocations, at the last tick

  private:
    using AccountKey = std::tuple<pid_t, std::uint64_t, int>;  // pid, instance (new after an exec), device
    static AccountKey key_of(const CudaAccount& account) {
        return {account.process.id.pid, account.process.instance, account.device};
    }
    struct Known {
        CudaAccount account{};
        GpuId device{};
    };

    void count_failures(const Known& known, const TrackedProcess& process, WatchedTargets& targets);
    bool is_unknown(const ProcessInstance& process) const;
    void read_accounts(CudaCalls& calls, const Surroundings& around);
    void sweep(CudaCalls& calls);
    void mark_followed(Session& session);

    LibraryFollower libraries_;
    std::uint64_t live_entries_ = 0;
    std::map<AccountKey, std::uint64_t> counted_failures_{};  // failures of each account that targets have counted

    std::set<ProcessInstance> unknown_{};  // processes that were not in the process table at the last tick

    mutable std::mutex mutex_{};              // guards the members below
    std::map<AccountKey, Known> accounts_{};  // of running processes
    std::vector<CudaSite> sites_{};           // of the same processes
};

}  // namespace memscope
