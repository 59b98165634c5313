#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/growth/hook_budget.h"
#include "base/files.h"
#include "model/growth/growth.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/gpu/cuda_recorder.h"
#include "watch/growth/growth_ledger.h"
#include "watch/growth/growth_planes.h"
#include "watch/growth/host_tensor_recorder.h"
#include "watch/growth/line_growth.h"
#include "watch/growth/mapped_recorder.h"
#include "watch/growth/resident_recorder.h"
#include "watch/growth/stack_intake.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// Growth of a target at one moment, before the native code of its sites is named.
struct UnnamedGrowth {
    TargetSnapshot target{};
    Growth growth{};  // without planes
    SitePlanes held{};
};

struct NamedGrowth {
    Growth growth{};
    bool complete = true;  // false: a helper is still loading symbols, name() again later
};

// Records growth by stack: follows processes from their start to their end, bounds what is kept, and answers what has
// grown. StackIntake names the stacks, GrowthPlanes sums what is held. Everything except report(), collect() and name()
// belongs to the thread of the ticks.
class GrowthRecorder {
  public:
    // `budget`: the share of the CPU time of the growing processes that the hook may cost. If the hook costs more, it
    // is detached for some time.
    GrowthRecorder(SysRoot root, std::shared_ptr<ReadHelpers> reads, GrowthStacks& stacks, const CudaRecorder& cuda,
                   HostTensorRecorder& host_tensors, bool python, HookBudget budget);

    void take_events();
    void find_python_again() { intake_.find_python_again(); }
    int find_python_fd() const { return intake_.find_python_fd(); }  // readable when find_python_again() is due
    // Starts to follow the growth of all processes in the table that are not followed yet: processes from before
    // watching began, and those that were moved into a target. The BPF programs follow a child of a watched process
    // from its fork on.
    void begin_new(ProcessTable& processes);
    void executed(const ProcessId& process);
    void tick(ProcessTable& processes);
    // Stores the last state of ended processes. tick() does this, too, but only after removed targets were dropped.
    void end_processes(const ProcessTable& processes);

    // At the end of a tick: adds the current growth to the histories (GrowthHistory), and bounds the samples.
    void remember(const Snapshot& snapshot);

    // Growth by line. Cheap enough to be called in some of the ticks.
    std::vector<LineGrowth> lines(const std::vector<Process>& processes) {
        return planes_.lines(processes, intake_.symbols());
    }

    // The memory that the processes of the target hold. For a process that has just ended: what it held at its end. May
    // be called from any thread, but with Wait::no only from the thread of the ticks. Loads symbols of native code,
    // which can take long:
    //   Wait::yes   symbols of all sites
    //   Wait::some  symbols of the largest sites (SiteNames::kMostNamed)
    //   Wait::no    symbols of the largest sites that are loaded already. Others are loaded in the background
    Growth report(const TargetSnapshot& target, const GrowthRequest& request,
                  NativeReads::Wait wait = NativeReads::Wait::yes);
    Growth report(const TargetSnapshot& target, NativeReads::Wait wait = NativeReads::Wait::yes) {
        return report(target, GrowthRequest{}, wait);
    }
    // The two halves of report(), for a caller that cannot wait for symbols and calls name() again with what it has
    // collected.
    UnnamedGrowth collect(const TargetSnapshot& target, const GrowthRequest& request);
    NamedGrowth name(UnnamedGrowth collected, NativeReads::Wait wait);
    void stop_waiting() { reads_->patient.stop(); }  // report() does not wait for symbols any more

    // Fills in the lines that mapped the large mappings of a process, if they are known.
    void name_mappings(HeapCensus& census) { planes_.name_mappings(census); }

    MappedRecorder& mapped() { return mapped_; }
    std::uint64_t unnamed() const { return intake_.unnamed(); }

  private:
    void begin(const TrackedProcess& process);
    void name_stacks_of(const std::vector<TrackedProcess>& ended);
    void end_all(const std::vector<TrackedProcess>& ended);
    void end_spaces(pid_t pid, std::optional<SpaceId> still);
    void read_spaces(const ProcessTable& processes);
    void make_room();
    void keep_to_budget();
    Seconds cpu_of_growing();
    void explain(Growth& growth, GrowthPlane kept_mapped, GrowthPlane kept_tensors, const TargetSnapshot& target);

    SysRoot root_;
    std::shared_ptr<ReadHelpers> reads_;
    GrowthStacks& stacks_;
    const CudaRecorder& cuda_;
    HostTensorRecorder& host_tensors_;
    ResidentRecorder resident_;
    MappedRecorder mapped_;
    HookBudget budget_;
    std::set<pid_t> executed_{};        // since the last tick
    std::uint64_t begun_revision_ = 0;  // of the process table, when all its processes were followed
    GrowthLedger ledger_;
    StackIntake intake_;
    GrowthPlanes planes_;
};

}  // namespace memscope
