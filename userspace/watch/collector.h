#pragma once
#include <memory>

#include "analysis/targets/job_runs.h"
#include "analysis/targets/target_judge.h"
#include "base/files.h"
#include "kernel/session.h"
#include "model/processes/ledger.h"
#include "model/processes/process_table.h"
#include "watch/clock.h"
#include "watch/deaths/death_recorder.h"
#include "watch/gpu/cuda_watch.h"
#include "watch/gpu/nvml_watch.h"
#include "watch/growth/growth_recorder.h"
#include "watch/helpers/read_jobs.h"
#include "watch/precursor_watch.h"
#include "watch/sharing/sharing_recorder.h"
#include "watch/stall_recorder.h"
#include "watch/targets/ended_targets.h"
#include "watch/targets/numa_limits.h"
#include "watch/targets/role_assigner.h"
#include "watch/targets/target.h"
#include "watch/watch_options.h"

namespace memscope {

// Joins what the kernel tells with the cgroups' own state into one Snapshot per tick.
class Collector {
  public:
    static Result<Collector> start(const SysRoot& root, const WatchOptions& options);
    // On a kernel that offers this much, or more.
    static Result<Collector> start(const SysRoot& root, const WatchOptions& options, const KernelFacts& facts);

    int events_fd() const { return events_.get(); }
    void take_events();  // whenever events wait
    Result<Snapshot> tick();
    bool has_news() const { return deaths_.news_waits(); }  // that should not wait for the next tick
    bool finished() const { return targets_->finished(processes_.living().size()); }
    const std::vector<Error>& refused() const { return session_.refused(); }
    // What was to be followed since and cannot be, and processes that block their readers.
    std::vector<Error> take_refusals();
    // Null where growth is not followed. It lives as long as the collector and may be asked from any thread.
    GrowthRecorder* growth() { return growth_.get(); }
    const CudaWatch& cuda() const { return *cuda_; }

  private:
    Collector(SysRoot root, const CgroupHierarchy& hierarchy, std::shared_ptr<ReadHelpers> reads, Session session,
              std::unique_ptr<Targets> targets, const WatchOptions& options);

    Status watch_rings();
    bool wakes_at(int fd) const;
    Status follow_descendants(pid_t pid);
    void watch_cuda_failures();

    void assign_roles(const Now& now);
    void settle_deaths(std::map<CgroupId, TargetInfo> removed, const Now& now);
    bool targets_may_have_changed();
    void refresh_targets();
    void read_details();
    void follow_growth();
    GrowthRecorder::RunsOf runs_of();
    std::map<CgroupId, TargetSnapshot> book_and_describe(const Now& now);
    void describe(Snapshot& snapshot, const Now& now);
    void describe_target(CgroupId id, Target& target, TargetSnapshot& out, const Snapshot& snapshot, const Now& now);
    SelfSample describe_self(const Now& now);

    SysRoot root_;
    std::shared_ptr<ReadHelpers> reads_;
    Session session_;
    std::unique_ptr<CudaWatch> cuda_;  // before the next one, which asks it from other threads
    std::unique_ptr<GrowthRecorder> growth_;
    std::unique_ptr<SharingRecorder> sharing_;
    std::unique_ptr<NvmlWatch> gpus_{};  // null: not asked for
    Fd events_;                          // an epoll of all that can wake us between two ticks
    std::unique_ptr<Targets> targets_;
    ProcessTable processes_;
    DeathRecorder deaths_;
    Ledger ledger_;
    StallRecorder stalls_;
    RoleAssigner roles_;
    JobRuns runs_{};
    Seconds warmup_;
    TrendSettings trend_;
    EndedTargets ended_;
    std::map<CgroupId, TargetJudge> judges_{};
    PrecursorWatch precursors_;
    NumaLimits numa_;
    HostMemory host_{};                   // of the last tick
    std::optional<SelfSample> own_{};     // of the last tick
    std::uint64_t own_looked_up_ns_ = 0;  // boot clock; when all of it was read
    bool told_of_cgroups_ = false;        // the kernel says when a cgroup is made or removed
    bool told_of_cuda_failures_ = false;  // the ring of CudaCalls is among `events_`
    bool cgroups_changed_ = true;
    std::uint64_t refreshed_ns_ = 0;       // boot clock
    std::uint64_t detailed_revision_ = 0;  // of the process table, when all details had been read
    std::uint64_t begun_revision_ = 0;     // and when growth was begun to be followed
    std::uint64_t ring_losses_ = 0;
    std::uint64_t unwatched_targets_ = 0;   // the map of targets was full
    std::uint64_t unreadable_targets_ = 0;  // samples that failed though the cgroup is there
    // No file descriptor was left: for targets that were to be added, at the last refresh, and for samples of targets,
    // at the last tick. `no_descriptors_` is the sum of all rises of the former and of all of the latter.
    std::size_t targets_without_descriptor_ = 0;
    std::size_t samples_without_descriptor_ = 0;
    std::uint64_t no_descriptors_ = 0;
};

}  // namespace memscope
