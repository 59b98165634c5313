#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "analysis/growth/hook_budget.h"
#include "base/files.h"
#include "kernel/features/host_tensors.h"
#include "kernel/session.h"
#include "model/growth/growth.h"
#include "model/growth/stack.h"
#include "model/growth/trough.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/clock.h"
#include "watch/gpu/library_follower.h"

namespace memscope {

// Memory of call stacks that is likely to be freed soon. In libraries without frame pointers the native stacks are
// partly random. So one line of a program has new stacks at every step, and these stacks have no earlier values.
// Therefore the stacks of a process with the same calls of Python have one trough. Stacks without such calls have their
// own.
class StackTroughs {
  public:
    static constexpr std::size_t kMostTroughs = std::size_t{4} * MS_HOST_CALLS;

    // The bytes of each site that are likely to be freed soon, in the order of `reading.sites`. Calls that hold
    // nothing are removed from the BPF map, so a call that is not in the reading keeps its trough until the trough is
    // too old. If there are too many troughs, those of calls that are not in the reading are dropped at once.
    std::vector<std::int64_t> passing(const HostTensorReading& reading, Seconds now);

  private:
    std::map<HostTensorReading::Calls, Trough> troughs_{};
};

// Follows the storages of PyTorch's host tensors in all copies of its library that watched processes have mapped.
// Pauses if the probes cost more than their budget. Frees during a pause are not seen, so the recording starts again
// afterwards. Everything except held(), end() and stacks() belongs to the thread of the ticks.
class HostTensorRecorder {
  public:
    HostTensorRecorder(SysRoot root, std::shared_ptr<ReadHelpers> reads, bool on, HookBudget budget);

    void executed(const ProcessId& process) { libraries_.executed(process); }
    void mapped(const LibraryMapped& event) { libraries_.mapped(event, true); }
    void check_libraries(Session& session, const Now& now);
    void tick(Session& session, ProcessTable& processes, const Now& now);

    void describe(SelfSample& self) const { libraries_.describe(self); }  // probes and losses
    std::vector<Error> take_refusals() { return libraries_.take_refusals(); }

    // From any thread: the storages that the processes hold, by stack.
    struct Held {
        std::vector<HeldAtStack> stacks{};
        std::int64_t elsewhere = 0;     // allocated without a stack
        std::int64_t lost = 0;          // allocated when there were too many storages
        std::int64_t before_pause = 0;  // during a pause: bytes that were held when the pause began
        HostTensorRecording recording{};
    };
    Held held(const std::vector<Process>& processes) const;
    // The process has ended: forgets its storages and returns them.
    std::vector<HeldAtStack> end(const ProcessId& process);
    std::set<StackId> stacks() const;  // all stacks that hold storages

    std::uint64_t entries() const { return entries_; }  // of the BPF map of storages, at the last tick

  private:
    // A stack that holds storages.
    struct Site {
        SpaceId space{};
        HeldAtStack held{};
    };
    void begin_new(ProcessTable& processes);
    void note_start(const Now& now);
    void read(HostTensors& tensors, const Now& now);
    std::vector<Site> held_at(const HostTensorReading& reading, const std::map<SpaceId, HostTensorAccount>& accounts,
                              Seconds now);
    void keep_to_budget(HostTensors& tensors, const Now& now);
    void measure_rate(const HostTensors::Cost& cost, const Now& now);
    void pause(HostTensors& tensors);
    void start_anew(HostTensors& tensors);

    SysRoot root_;
    bool on_;
    LibraryFollower libraries_;
    HookBudget budget_;
    std::uint64_t revision_ = 0;  // of the process table, when all its processes were followed
    std::uint64_t losses_ = 0;    // of probes, at the last tick
    std::uint64_t entries_ = 0;
    std::uint64_t counted_ = 0;  // entries that belong to accounts
    struct Mark {
        std::uint64_t boot_ns = 0;
        std::uint64_t allocated = 0;
    };
    Mark mark_{};
    double rate_ = 0;  // storages per second
    StackTroughs troughs_{};

    mutable std::mutex mutex_{};  // guards the members below
    std::map<SpaceId, HostTensorAccount> accounts_{};
    std::vector<Site> sites_{};
    std::map<ProcessId, std::int64_t> before_pause_{};
    HostTensorRecording recording_{};
};

}  // namespace memscope
