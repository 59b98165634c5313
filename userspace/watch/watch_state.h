#pragma once
#include <map>
#include <utility>
#include <vector>

#include "analysis/roles/role_rules.h"
#include "watch/deaths/death_recorder.h"
#include "watch/heap/container_watch.h"
#include "watch/targets/ended_targets.h"
#include "watch/targets/role_assigner.h"
#include "watch/targets/run_recorder.h"
#include "watch/targets/target_state.h"
#include "watch/tick_readings.h"

namespace memscope {

// Keeps processes, targets and deaths from one tick to the next, and has the stages of a tick that turn readings into a
// Snapshot. Nothing here reads the kernel, a file, a helper process or a clock: the collector passes in the readings,
// so recorded readings can be replayed. The stages of a tick, in this order:
//
//   apply(), take()       events of the kernel            -> process table, undecided deaths
//   reconcile()           scan of all processes           -> process table
//   settle()              process table, host             -> roles, deaths of targets
//   follow_runs()         process table                   -> runs of jobs
//   take(HeapCensus)      heap censuses                   -> targets
//   count_processes()     process table                   -> counters by role, processes of each target
//   judge()               readings of machine and targets -> Snapshot
//
// apply() and take() are called between ticks, too, and once more after the scan.
class WatchState {
  public:
    struct Settings {
        TargetSettings targets{};
        std::vector<RoleRule> role_rules{};
        Seconds linger{60};                   // how long an ended target is shown
        std::uint64_t watching_since_ns = 0;  // boot clock; page faults of earlier processes are not all counted
    };
    explicit WatchState(Settings settings);

    ProcessTable& processes() { return processes_; }
    const ProcessTable& processes() const { return processes_; }
    WatchedTargets& targets() { return targets_; }

    void apply(const TreeEvent& event);
    // Called when all tree events up to the end of the process have been applied.
    void take(const DeathEvidence& evidence) { deaths_.take(evidence); }
    bool has_news() const { return deaths_.has_news(); }  // a death that should be shown before the next regular tick
    // Called when all events up to the end of the scan have been applied. `is_ending`: see ProcessTable::reconcile().
    void reconcile(const TaskList& scan, const ProcessTable::IsEnding& is_ending = {});
    // Assigns roles and decides the causes of deaths. A kill has freed memory by now, so deaths are decided with the
    // host memory of the last tick. `host` is stored for the next tick.
    void settle(const Now& now, const HostMemory& host, const DeathLookups& lookups);
    void follow_runs() { runs_.update(processes_, targets_); }
    // Counts what all processes did since the last tick, and forgets the ended processes. Returns the processes of
    // every target.
    ReadingsByTarget count_processes(const Now& now);
    // `readings`: the result of count_processes(), completed with the readings of each target. `finished`: no target is
    // left to be watched, so this may be the last tick. In this case a target whose memory could not be read ends now,
    // so that its last values and its deaths are shown.
    Snapshot judge(MachineReadings machine, ReadingsByTarget readings, bool finished);

    // The end of targets, in this order: prepare_end() for all of them at once, then end_target() for each.
    //
    // Decides the deaths that are undecided and gives all ended processes their roles, while the targets still exist.
    // After a tick that failed, count_processes() can follow: the next tick shows the deaths and counters.
    void prepare_end(const Now& now, const DeathLookups& lookups);
    // The counters of targets that end. They include the processes that have ended since the last tick, because
    // count_processes() counts these processes at the next tick, when the targets do not exist any more.
    std::map<CgroupId, RoleLedger> final_counters(const std::vector<CgroupId>& ending);
    void count_stalls(TargetState& target, const ReclaimStalls& counted);
    // Moves the last values of the target to the ended targets. Its processes belong to the enclosing target from then
    // on.
    void end_target(CgroupId id, const RoleLedger& final, const Now& now);

    // Adds a heap census to all targets that contain its process, and follows its containers.
    void take(HeapCensus census);
    // The heap censuses that are wanted because of the last tick.
    std::vector<CensusWish> take_census_wishes() { return std::exchange(census_wishes_, {}); }

    ContainerWatch& containers() { return containers_; }

    std::uint64_t folded_ranks() const { return roles_.folded_ranks(); }

  private:
    void assign_roles(const Now& now);
    // Drops the oldest censuses of Python objects and keeps their summaries, because a census can have a megabyte and a
    // watcher can have thousands of targets.
    void bound_objects();
    void settle_deaths(const Now& now, const DeathLookups& lookups);
    TargetSnapshot judge_target(TargetState& target, TargetReadings readings, const MachineReadings& machine);

    ProcessTable processes_;
    WatchedTargets targets_;
    RoleAssigner roles_;
    RunRecorder runs_{};
    DeathRecorder deaths_{};
    EndedTargets ended_;
    HostMemory host_{};  // of the last tick
    std::vector<CensusWish> census_wishes_{};
    ContainerWatch containers_{};
};

}  // namespace memscope
