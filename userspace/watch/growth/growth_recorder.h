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
#include "watch/growth/growth_book.h"
#include "watch/growth/mapped_recorder.h"
#include "watch/growth/python_codes.h"
#include "watch/growth/python_watch.h"
#include "watch/growth/site_names.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// What has grown at each line, largest first. Native code is named by its file alone: its symbols may take a while to
// load, and a tick does not wait for them.
std::vector<LineGrowth> by_line(const std::vector<BookedGrowth>& booked);

// Follows growth by stack: names stacks as they come, while their processes live, and keeps the book. Everything but
// report() belongs to the thread of the ticks.
class GrowthRecorder {
  public:
    // The runs of jobs that a process belongs to, see JobRuns.
    using RunsOf = std::function<std::vector<RunId>(const TrackedProcess&)>;

    // `budget`: the share of the CPU time of those that grow which the hook may cost before it is taken off for a
    // while.
    GrowthRecorder(SysRoot root, std::shared_ptr<ReadHelpers> reads, GrowthStacks& stacks, const CudaRecorder& gpu,
                   bool python, HookBudget budget);

    void take_events();
    void look_again() { python_.look_again(); }
    int retry_fd() const { return python_.retry_fd(); }
    // Follows the growth of all processes in the table that are not followed yet. The BPF programs follow a process
    // that was forked by a watched one from its fork on; here begin processes that were there before and those that
    // were moved into a target.
    void begin_new(ProcessTable& processes);
    void executed(const ProcessId& process);
    void tick(ProcessTable& processes, const RunsOf& runs_of);
    // Keeps what ended processes had grown by. tick() does that as well, but after the targets that were removed are
    // forgotten.
    void end_processes(const ProcessTable& processes, const RunsOf& runs_of);
    // Forgets what had grown in processes that ended in other runs.
    void keep_only(const std::set<RunId>& runs);

    // Of the resident plane, by line: cheap enough for a tick now and then.
    std::vector<LineGrowth> lines(RunId run, const std::vector<Process>& processes);

    // From any thread. Symbols of native code are loaded, which takes a while; with Wait::no, which is for the thread
    // of the ticks, the largest sites are named, as far as their symbols are there within a moment: see SiteNames.
    Growth report(const TargetSnapshot& target, NativeReads::Wait wait = NativeReads::Wait::yes);
    void stop_waiting() { reads_->patient.stop(); }  // reports end without the symbols they wait for

    MappedRecorder& mapped() { return mapped_; }
    std::uint64_t unnamed_frames() const { return codes_.unknown() + unread_stacks_; }

  private:
    // What the kernel told of a process, in this order, that waits for a helper to read something of the process.
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
    bool read_resident();
    void name_deferred_of(const std::vector<TrackedProcess>& ended);
    void end_all(const std::vector<TrackedProcess>& ended, const RunsOf& runs_of);
    void end(pid_t pid, const GrowthBook::Holder& holder, std::optional<SpaceId> still);
    void read_spaces(const ProcessTable& processes, bool all);
    void make_room();
    void mind_budget();
    Seconds cpu_of_growing() const;
    GrowthPlane resident_plane(const TargetSnapshot& target, SiteNames& names);
    GrowthPlane mapped_plane(const TargetSnapshot& target, const MappedRecorder::Held& held, SiteNames& names);
    GrowthPlane gpu_plane(const TargetSnapshot& target, const CudaRecorder::Held& held, SiteNames& names);
    template <class AtStack>
    GrowthPlane held_plane(const TargetSnapshot& target, const std::vector<AtStack>& stacks, SiteNames& names);

    SysRoot root_;
    std::shared_ptr<ReadHelpers> reads_;
    GrowthStacks& stacks_;
    const CudaRecorder& gpu_;
    NativeSymbols symbols_;
    PythonWatch python_;
    PythonCodes codes_;
    MappedRecorder mapped_;
    HookBudget budget_;
    std::map<pid_t, std::deque<Deferred>> deferred_{};
    std::size_t deferred_count_ = 0;
    std::set<pid_t> executed_{};        // since the last tick
    std::set<pid_t> replaced_{};        // those whose maps, as we have them, are of the program before
    std::uint64_t begun_revision_ = 0;  // of the process table, when all its processes were followed
    std::uint64_t seen_bookings_ = 0;
    std::uint64_t unread_stacks_ = 0;  // of processes that ended before their address space was read
    std::set<RunId> kept_runs_{};

    std::mutex mutex_{};                     // of what follows
    std::map<pid_t, SpaceGrowth> spaces_{};  // of living processes, as of the last tick: as old as the rest of a report
    GrowthBook book_;
};

}  // namespace memscope
