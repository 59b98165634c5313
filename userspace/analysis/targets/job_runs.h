#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "model/processes/nesting.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"

namespace memscope {

// Distinguishes the runs of the job in each target and assigns processes to runs. The growth of ended processes is kept
// by run, so that a report of one run does not include earlier runs.
//
// A run is over when the processes that held most of the target's memory have exited (JobEnd), or when only launchers,
// helpers and workers are left. The next run begins with the next process that does the work of a job: a trainer, or
// any other process that holds 8 MiB or ends with an error. Until then the ended run stays the current one, so that its
// results can still be read. A cgroup that was removed and created again is another target.
//
// - Workers and helpers belong to the run of their parent.
// - Ancestors of the process that begins a run belong to that run, because a supervisor restarts the job.
// - Any other process that is left over from an earlier run stays in that run.
class JobRuns {
  public:
    // Call this in every tick, after all processes have their roles and before their growth is counted.
    void look_at(const ProcessTable& processes, const Nesting& nesting);
    // Call this if JobEnd found in the same tick that the job of the target has ended.
    void job_ended(CgroupId target);
    // Fills in the runs of a target and of its deaths.
    void name(CgroupId target, TargetSnapshot& out);
    // Call this when all targets of the tick are complete, including ended ones.
    void end_tick(const Snapshot& snapshot);

    RunId current(CgroupId target) { return targets_.try_emplace(target, *this).first->second.current; }
    RunId of(CgroupId target, const ProcessId& process);  // the current run if the process belongs to none
    // The run of the process in each target that contains it.
    std::vector<RunId> around(const TrackedProcess& process, const Nesting& nesting);

    // Runs whose growth may still be needed: the current run of each target, the previous one, whose last processes may
    // exit late, and those in the last snapshot, because a report of them may be requested.
    std::set<RunId> kept() const;
    void forget(CgroupId target) { targets_.erase(target); }

  private:
    struct Member {
        pid_t parent = 0;         // the parent when it was first seen
        RunId run = kNoRun;       // none: it has no run yet, or is a launcher
        bool works = false;       // does the work of a job
        std::uint64_t since = 0;  // round in which it was first seen or began to work
        std::uint64_t ended = 0;  // round; 0: it still runs
    };
    struct Target {
        explicit Target(JobRuns& runs) : current(runs.next_run()) {}
        RunId current;
        RunId previous = kNoRun;
        bool over = false;        // the current run is over
        bool undecided = false;   // a process may yet begin the next run
        std::uint64_t began = 0;  // round in which the current run began
        std::map<ProcessId, Member> members{};
    };
    using Members = std::vector<Member*>;

    RunId next_run() { return RunId{++last_run_}; }
    void look_at(Target& target, const std::vector<const TrackedProcess*>& processes);
    void begin(Target& target, const Members& first);
    static bool has_work_left(const Target& target);
    static Member* living(Target& target, pid_t pid);
    static void follow_parent(Target& target, Member& member);
    void show(const TargetSnapshot& target);

    std::map<CgroupId, Target> targets_{};
    std::set<RunId> shown_{};  // in the last snapshot, and of targets that were removed since
    std::uint64_t last_run_ = 0;
    std::uint64_t round_ = 0;
    std::uint64_t judged_ = 0;    // the last round of the previous tick
    std::uint64_t revision_ = 0;  // of the process table, in the last round that found a change
};

}  // namespace memscope
