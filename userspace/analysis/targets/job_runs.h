#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "model/processes/nesting.h"
#include "model/processes/process_table.h"
#include "model/snapshot.h"

namespace memscope {

// Tells the runs of the job in each target apart, and which process belongs to which run. What processes had grown by
// at their end is kept by run, so that a report of one run does not add up earlier ones.
//
// A run is over when the processes that held most of the target's memory are gone (JobEnd), or when nothing but
// launchers, helpers and workers is left. The next run begins with the next process that does the work of a job: a
// trainer, or any other process that holds 8 MiB or ends with an error. Until then the run that is over stays the
// current one, so that it can be looked at. A cgroup that was removed and made again is another target.
//
// - Workers and helpers belong to the run of their parent.
// - Ancestors of the process that begins a run belong to that run: a supervisor that restarts the job goes with it.
// - Any other process that is left over from an earlier run stays in that run.
class JobRuns {
  public:
    // In every tick, after all processes have their roles and before their growth is counted.
    void look_at(const ProcessTable& processes, const Nesting& nesting);
    // JobEnd found, in the same tick, that the job of the target has ended.
    void job_ended(CgroupId target);
    // Fills in the runs of a target and of its deaths.
    void name(CgroupId target, TargetSnapshot& out);
    // All targets are described, those that have ended too.
    void end_tick(const Snapshot& snapshot);

    RunId current(CgroupId target) { return targets_.try_emplace(target, *this).first->second.current; }
    RunId of(CgroupId target, const ProcessId& process);  // the current run for a process that belongs to none
    // One for each target around the process.
    std::vector<RunId> around(const TrackedProcess& process, const Nesting& nesting);

    // Runs whose growth may still be needed: the current one of each target, the one before, whose last processes may
    // end late, and those that the last tick shows, because a report of them may be asked for.
    std::set<RunId> kept() const;
    void forget(CgroupId target) { targets_.erase(target); }

  private:
    struct Member {
        pid_t parent = 0;         // the one it came with
        RunId run = kNoRun;       // none: it belongs to no run yet, or is a launcher
        bool works = false;       // does the work of a job, and did so since
        std::uint64_t since = 0;  // this look
        std::uint64_t ended = 0;  // at this look; 0: it lives
    };
    struct Target {
        explicit Target(JobRuns& runs) : current(runs.next_run()) {}
        RunId current;
        RunId previous = kNoRun;
        bool over = false;        // the current run
        bool undecided = false;   // a process may yet begin the next run
        std::uint64_t began = 0;  // the current run, at this look
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
    std::set<RunId> shown_{};  // at the last tick, and of targets that were removed since
    std::uint64_t last_run_ = 0;
    std::uint64_t look_ = 0;
    std::uint64_t judged_ = 0;    // the last look of the tick before
    std::uint64_t revision_ = 0;  // of the process table, at the last look that found something new
};

}  // namespace memscope
