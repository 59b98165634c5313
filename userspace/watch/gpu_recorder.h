#pragma once
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files.h"
#include "kernel/detacher.h"
#include "kernel/session.h"
#include "model/gpu_account.h"
#include "model/nesting.h"
#include "model/process_table.h"
#include "model/snapshot.h"
#include "sources/cuda_library.h"

namespace memscope {

// Follows the CUDA driver in whatever copies of it watched processes have mapped, and reads what the kernel has booked
// of its calls. Everything but held() belongs to the thread of the ticks.
class GpuRecorder {
  public:
    GpuRecorder(SysRoot root, bool on) : root_(std::move(root)), on_(on) {}
    GpuRecorder(const GpuRecorder&) = delete;
    GpuRecorder& operator=(const GpuRecorder&) = delete;
    ~GpuRecorder();

    void begin(const TrackedProcess& process);  // one that is watched from now on
    void executed(const ProcessId& process);
    // One that has mapped a driver, or may have: look() soon, for what is allocated until then is not seen.
    void look_at(const ProcessId& process) {
        if (on_) to_look_at_.insert(process);
    }
    void look(Session& session);
    struct Surroundings {
        const ProcessTable& processes;  // with those that have ended since the tick before
        const Nesting& nesting;
        const std::vector<GpuDevice>& devices;
        std::uint64_t now_ns = 0;  // boot clock
    };
    void tick(Session& session, const Surroundings& around);

    // Puts what the processes of a target hold into what is shown of it, with what others have put there.
    void describe(CgroupId target, TargetSnapshot& out) const;
    // By the calls of a process, as of the last tick, its end included; none: it has made none.
    std::optional<Bytes> reserved(const ProcessId& process, const GpuId& device) const;
    void forget(CgroupId target) { failures_.erase(target); }

    // From any thread: what the processes hold at which stacks.
    struct Held {
        struct AtStack {
            ProcessId process{};
            StackId stack = kNoStack;
            std::int64_t bytes = 0;
        };
        std::vector<AtStack> stacks{};
        std::int64_t elsewhere = 0;  // at no stack
        std::int64_t lost = 0;       // not booked at all: too many allocations
    };
    struct HeldPlanes {
        Held gpu{};
        Held pinned{};
    };
    HeldPlanes held(const std::vector<Process>& processes) const;
    std::set<StackId> stacks() const;  // all that hold something

    std::uint64_t live_entries() const { return live_entries_; }  // in the kernel's books, as of the last tick
    bool has_any() const;                                         // somebody has mapped a driver, or what is named so
    bool is_following() const;                                    // and at least one of them is followed
    std::uint64_t refused() const { return refused_; }  // files that are named like the driver, and cannot be followed
    std::vector<Error> take_refusals() { return std::exchange(refusals_, {}); }  // why, once a file

  private:
    using FileKey = std::tuple<unsigned, unsigned, std::uint64_t>;  // as /proc/PID/maps has it
    struct Library {
        std::vector<UserProbe> probes{};  // none: it was refused
        std::set<pid_t> users{};
        std::uint64_t used_ns = 0;  // at the last tick at which it had any
    };
    using AccountKey = std::tuple<pid_t, std::uint64_t, int>;  // process, instance, device
    static AccountKey key_of(const GpuAccount& account) {
        return {account.process.id.pid, account.process.instance, account.device};
    }
    struct Known {
        GpuAccount account{};
        GpuId device{};
    };

    void look_at_maps(Session& session, const ProcessId& process);
    Status follow(Session& session, pid_t pid, const MappedRange& mapping, Library& library);
    void count_failures(const Known& known, const TrackedProcess& process, const Nesting& nesting);
    bool is_stranger(const CudaProcess& process) const;
    void look_again(const Surroundings& around);
    void leave_unused(const Surroundings& around);
    void read_accounts(GpuSignal& signal, const Surroundings& around);
    void sweep(GpuSignal& signal);

    SysRoot root_;
    bool on_;
    std::set<ProcessId> to_look_at_{};
    struct Look {
        std::uint64_t next_ns = 0;
        std::uint64_t wait_ns = 0;
    };
    std::map<ProcessId, Look> looks_{};  // where nobody tells of drivers that are mapped
    Detacher detacher_{};
    std::map<FileKey, Library> libraries_{};
    std::uint64_t refused_ = 0;
    std::uint64_t live_entries_ = 0;
    std::vector<Error> refusals_{};
    std::map<CgroupId, std::map<TargetGpu::RoleDevice, std::uint64_t>> failures_{};
    std::map<AccountKey, std::uint64_t> counted_failures_{};

    std::set<CudaProcess> strangers_{};  // that the table of processes did not know at the last tick

    mutable std::mutex mutex_{};              // of what follows
    std::map<AccountKey, Known> accounts_{};  // of living processes
    std::vector<GpuSite> sites_{};            // theirs
};

}  // namespace memscope
