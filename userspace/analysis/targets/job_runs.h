#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "model/processes/process_table.h"
#include "model/snapshot.h"

namespace memscope {

// Numbers that the runs of all targets share. The process table is compared with the known runs once per tick, and once
// more when a target has been removed. Each such comparison is a round.
class RunNumbers {
  public:
    RunId next_run() { return RunId{++last_run_}; }  // never given twice
    void begin_round() { ++round_; }
    void end_tick() { judged_ = round_; }  // all targets have been judged

    std::uint64_t round() const { return round_; }
    std::uint64_t judged() const { return judged_; }  // the last round of the tick before

  private:
    std::uint64_t last_run_ = 0;
    std::uint64_t round_ = 0;
    std::uint64_t judged_ = 0;
};

// Distinguishes the runs of the job in one target, and knows which process belongs to which run. The growth of ended
// processes is kept by run, so that a report of one run does not include earlier runs.
//
// A run is over when the processes that held most of the target's memory are gone (JobEnd), or when nothing but
// launchers, helpers and workers is left. The next run begins with the next process that does the work of a job: a
// trainer, or any other process that holds 8 MiB or ends with an error. Until then the run that is over stays the
// current one, so that its growth can still be shown. A cgroup that was removed and made again is another target.
//
// - Workers and helpers belong to the run of their parent.
// - Ancestors of the process that begins a run belong to that run, because a supervisor restarts the job.
// - Any other process that is left over from an earlier run stays in that run.
class JobRuns {
  public:
    explicit JobRuns(std::shared_ptr<RunNumbers> numbers)
        : numbers_(std::move(numbers)), current_(numbers_->next_run()) {}

    // At most once a round, after all processes have their roles and before their growth is counted. `processes` are
    // all processes of the target, also those that ended since the last tick; parents come before their children.
    void update(const std::vector<const TrackedProcess*>& processes);
    // update() has to be called in the next round even if no process comes or goes: a process that is there may begin
    // the next run by growing.
    bool may_begin() const { return over_ && undecided_; }
    // JobEnd found, in the same tick, that the job of the target has ended.
    void job_ended();
    // Fills in the current run of the target and the runs of its deaths.
    void name(TargetSnapshot& out) const;

    RunId current() const { return current_; }
    RunId previous() const { return previous_; }  // kNoRun: the current one is the first
    RunId of(const ProcessId& process) const;     // the current run for a process that belongs to none

  private:
    struct Member {
        pid_t parent = 0;         // at the first round that had the process
        RunId run = kNoRun;       // none: it belongs to no run yet, or is a launcher
        bool works = false;       // it does the work of a job
        std::uint64_t since = 0;  // the round in which it began to work; before that: its first round
        std::uint64_t ended = 0;  // the round in which its end was seen; 0: it lives
    };
    using Members = std::vector<Member*>;

    void note_ended(const std::vector<const TrackedProcess*>& processes);
    void begin(const Members& first);
    bool has_work_left() const;
    Member* living(pid_t pid);
    void follow_parent(Member& member);

    std::shared_ptr<RunNumbers> numbers_;
    RunId current_;
    RunId previous_ = kNoRun;
    bool over_ = false;        // the current run
    bool undecided_ = false;   // a process may yet begin the next run
    std::uint64_t began_ = 0;  // the round in which the current run began
    std::map<ProcessId, Member> members_{};
};

}  // namespace memscope
