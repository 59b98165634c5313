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
#include "model/gpu/gpu_account.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "sources/gpu/cuda_library.h"
#include "watch/gpu/library_follower.h"
#include "watch/targets/target_state.h"

namespace memscope {

// Follows the CUDA driver in all copies of its library that watched processes have mapped, and reads what the BPF
// programs have counted of its calls. Everything but held() belongs to the thread of the ticks.
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
    void look(Session& session, std::uint64_t now_ns);  // at processes that have mapped a driver since the last call
    void tick(Session& session, const Surroundings& around);

    // Adds what the processes of a target hold to `gpu`, which may have values of the driver already.
    void describe(const std::vector<Process>& processes, std::optional<TargetGpu>& gpu) const;
    // The device that a process has under this number, as its calls have shown.
    std::optional<GpuId> device(const ProcessId& process, int ordinal) const;

    // From any thread: what the processes hold at which stacks.
    struct Held {
        struct AtStack {
            ProcessId process{};
            StackId stack = kNoStack;
            std::int64_t bytes = 0;
        };
        std::vector<AtStack> stacks{};
        std::int64_t elsewhere = 0;  // at no stack
        std::int64_t lost = 0;       // not counted at any stack: too many allocations
    };
    struct HeldPlanes {
        Held gpu{};
        Held pinned{};
    };
    HeldPlanes held(const std::vector<Process>& processes) const;
    std::set<StackId> stacks() const;  // all that hold something

    std::uint64_t live_entries() const { return live_entries_; }  // of the BPF map of allocations, at the last tick

  private:
    using AccountKey = std::tuple<pid_t, std::uint64_t, int>;  // process, instance, device
    static AccountKey key_of(const GpuAccount& account) {
        return {account.process.id.pid, account.process.instance, account.device};
    }
    struct Known {
        GpuAccount account{};
        GpuId device{};
    };

    void count_failures(const Known& known, const TrackedProcess& process, WatchedTargets& targets);
    bool is_stranger(const CudaProcess& process) const;
    void read_accounts(CudaCalls& calls, const Surroundings& around);
    void sweep(CudaCalls& calls);
    void mark_followed(Session& session);

    LibraryFollower libraries_;
    std::uint64_t live_entries_ = 0;
    std::map<AccountKey, std::uint64_t> counted_failures_{};  // of each account, what targets have been given

    std::set<CudaProcess> strangers_{};  // that the table of processes did not know at the last tick

    mutable std::mutex mutex_{};              // of what follows
    std::map<AccountKey, Known> accounts_{};  // of living processes
    std::vector<GpuSite> sites_{};            // theirs
};

}  // namespace memscope
