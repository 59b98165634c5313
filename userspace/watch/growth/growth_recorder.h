#pragma once
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "analysis/growth/hook_budget.h"
#include "base/files.h"
#include "kernel/features/growth_stacks.h"
#include "model/growth/growth.h"
#include "model/processes/nesting.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"
#include "watch/gpu/cuda_recorder.h"
#include "watch/growth/call_sites.h"
#include "watch/growth/growth_history.h"
#include "watch/growth/host_tensor_recorder.h"
#include "watch/growth/line_growth.h"
#include "watch/growth/mapped_recorder.h"
#include "watch/growth/python_codes.h"
#include "watch/growth/python_watch.h"
#include "watch/growth/resident_recorder.h"
#include "watch/growth/site_names.h"
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

// Records growth by stack. Symbolizes stacks when they arrive, while their processes run. Everything except report()
// belongs to the thread of the ticks.
class GrowthRecorder {
  public:
    // `budget`: the share of the CPU time of the growing processes that the hook may cost. If it costs more, it is
    // detached for some time.
    GrowthRecorder(SysRoot root, std::shared_ptr<ReadHelpers> reads, GrowthStacks& stacks, const CudaRecorder& gpu,
                   HostTensorRecorder& host_tensors, bool python, HookBudget budget);

    void take_events();
    void look_again() { python_.look_again(); }
    int retry_fd() const { return python_.retry_fd(); }
    // Starts to follow the growth of all processes in the table that are not followed yet: processes from before
    // watching began, and those that were moved into a target. The BPF programs follow a child of a watched process
    // from its fork on.
    void begin_new(ProcessTable& processes);
    void executed(const ProcessId& process);
    void tick(ProcessTable& processes);
    // Stores the last state of ended processes. tick() does the same, but it runs after removed targets were dropped.
    void end_processes(const ProcessTable& processes);

    // At the end of a tick: keeps some of the growth of earlier times, see GrowthHistory, and bounds the samples.
    // `unread`: targets that exist, but could not be read in this tick.
    void remember(const std::vector<TargetSnapshot>& targets, const std::set<std::string>& unread);

    // Growth by line. Cheap enough to be called in some of the ticks.
    std::vector<LineGrowth> lines(const std::vector<Process>& processes);

    // The memory that the processes of the target hold. For a process that has just ended: what it held at its end. May
    // be called from any thread, but with Wait::no only from the thread of the ticks. Loads symbols of native code,
    // which can take long:
    //   Wait::yes   symbols of all sites
    //   Wait::some  symbols of the largest sites (SiteNames::kMostNamed)
    //   Wait::no    the same, as far as they are loaded already. The others are loaded in the background
    Growth report(const TargetSnapshot& target, const GrowthRequest& request,
                  NativeReads::Wait wait = NativeReads::Wait::yes);
    Growth report(const TargetSnapshot& target, NativeReads::Wait wait = NativeReads::Wait::yes) {
        return report(target, GrowthRequest{}, wait);
    }
    // The two halves of report(), for a caller that cannot wait for symbols and calls name() again with what it has
    // collected.
    UnnamedGrowth collect(const TargetSnapshot& target, const GrowthRequest& request);
    NamedGrowth name(UnnamedGrowth collected, NativeReads::Wait wait);
    void stop_waiting() { reads_->patient.stop(); }  // report() returns without the symbols that it waits for

    // Fills in the lines that mapped the large mappings of a process, if they are known.
    void name_mappings(HeapCensus& census);

    MappedRecorder& mapped() { return mapped_; }
    std::uint64_t unnamed_frames() const { return codes_.unknown() + unread_stacks_; }

  private:
    // Events of a process, in the order of their arrival, that wait until a helper has read data of the process.
    using Deferred = std::variant<ms_code, RawStack>;
    enum class Names { when_read, as_known };

    void begin(const TrackedProcess& process);
    bool take(const ms_code& code, Names names);
    bool take(const RawStack& stack, Names names);
    void expect_names(const ms_code&) {}
    void expect_names(const RawStack& stack);
    template <class Record>
    void take_or_defer(pid_t pid, const Record& record);
    void take_deferred();
    void take_deferred_now(pid_t pid);
    std::optional<std::vector<NativeLocation>> located(const RawStack& stack, Names names);
    void look_at(const ProcessId& process);
    void name_deferred_of(const std::vector<TrackedProcess>& ended);
    // The last state of a process that has ended.
    struct Ended {
        Seconds at{};                        // boot clock
        std::vector<SiteGrowth> resident{};  // without roles
        std::vector<SiteGrowth> mapped{};
        std::vector<SiteGrowth> tensors_host{};
        std::int64_t unknown_resident = 0;  // at stacks without names
        std::int64_t start_bytes = 0;
        std::optional<std::uint64_t> checked_ns{};  // see ResidentRecorder
    };
    void keep_last(const TrackedProcess& process);
    std::vector<SiteGrowth> named(const std::vector<HeldAtStack>& held, const RoleKey& role = {}) const;
    void end_all(const std::vector<TrackedProcess>& ended);
    void end(pid_t pid, std::optional<SpaceId> still);
    void read_spaces(const ProcessTable& processes);
    void make_room();
    void mind_budget();
    Seconds cpu_of_growing() const;
    KeptSites kept_at_sites(const std::vector<Process>& processes);
    void explain(Growth& growth, GrowthPlane kept_mapped, GrowthPlane kept_tensors, const TargetSnapshot& target);
    SitePlanes site_planes(const TargetSnapshot& target);
    std::optional<Seconds> pages_checked(const TargetSnapshot& target);
    SitePlane resident_plane(const TargetSnapshot& target);
    SitePlane mapped_plane(const TargetSnapshot& target, const MappedRecorder::Held& held);
    SitePlane gpu_plane(const TargetSnapshot& target, const CudaRecorder::Held& held);
    SitePlane tensors_plane(const TargetSnapshot& target, const HostTensorRecorder::Held& held);
    // `ended`: the plane of processes that have ended; null: none is kept.
    SitePlane held_plane(const TargetSnapshot& target, const std::vector<HeldAtStack>& stacks,
                         std::vector<SiteGrowth> Ended::* ended);

    SysRoot root_;
    std::shared_ptr<ReadHelpers> reads_;
    GrowthStacks& stacks_;
    const CudaRecorder& gpu_;
    HostTensorRecorder& host_tensors_;
    NativeSymbols symbols_;
    PythonWatch python_;
    PythonCodes codes_;
    ResidentRecorder resident_;
    MappedRecorder mapped_;
    HookBudget budget_;
    std::map<pid_t, std::deque<Deferred>> deferred_{};
    std::size_t deferred_count_ = 0;
    std::set<pid_t> executed_{};        // since the last tick
    std::set<pid_t> replaced_{};        // processes whose known maps are those of the program before an exec
    std::uint64_t begun_revision_ = 0;  // of the process table, when all its processes were followed
    std::uint64_t unread_stacks_ = 0;   // of processes that ended before their address space was read

    std::mutex mutex_{};                       // guards the members below
    std::map<pid_t, FollowedSpace> spaces_{};  // of running processes at the last tick
    std::map<ProcessId, Ended> ended_{};
    bool was_paused_ = false;
    CallSites sites_;
    GrowthHistories history_{};
};

}  // namespace memscope
