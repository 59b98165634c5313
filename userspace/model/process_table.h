#pragma once
#include <span>
#include <unordered_map>
#include <vector>

#include "model/process.h"
#include "model/tree_event.h"

namespace memscope {

// From one innermost target to another; kNoCgroup is outside. A start and an exit are crossings too.
struct Crossing {
    CgroupId from = kNoCgroup;
    CgroupId to = kNoCgroup;
};

// One process while it is watched, and until the tick after its end.
struct TrackedProcess {
    TaskSample task{};  // the latest known; task.target is where it is now
    std::vector<std::string> argv{};
    std::optional<int> rank{};
    std::uint32_t exec_count = 0;
    bool details_wanted = true;    // argv and rank are to be read from /proc
    bool born_here = false;        // all its faults are ours to count
    bool scanned = false;          // task has numbers of a scan, not only of events
    bool baseline_wanted = false;  // faults of before are not known yet, so that none can be booked
    bool ended = false;
    int exit_code = 0;
    std::vector<Crossing> crossings{};    // since the last settle()
    Faults faults_booked{};               // what counters have had of task.faults
    Mappings mappings_booked{};           // and of task.mappings
    CgroupId settled_target = kNoCgroup;  // where it was at the last settle()
    bool settled = false;                 // counters have had something of it

    Faults faults_to_book() const;
    void retarget(CgroupId gone, CgroupId enclosing);
    CgroupId last_target() const;  // where it is, or was until it left
};

// Every watched process, kept current by events and set right by each scan. Events and scans may overlap: each
// carries its time, and older news never undoes newer.
class ProcessTable {
  public:
    // Processes that were there before have made their faults unwatched.
    explicit ProcessTable(std::uint64_t watching_since_ns) : since_(watching_since_ns) {}

    void apply(const TreeEvent& event);
    // The result of a scan that began at `began_ns`. A process that is missing twice without an exit event has
    // gone with its event lost.
    void reconcile(std::span<const TaskSample> scan, std::uint64_t began_ns);
    // The target is watched no more: its processes are in what encloses it, or leave.
    void retarget(CgroupId gone, CgroupId enclosing);
    // All that is known was booked: crossings are forgotten, and with them the processes that have gone.
    void settle();

    std::unordered_map<pid_t, TrackedProcess>& living() { return living_; }
    const std::unordered_map<pid_t, TrackedProcess>& living() const { return living_; }
    std::vector<TrackedProcess>& ended() { return ended_; }
    std::uint64_t missed_exits() const { return missed_exits_; }

  private:
    void on(const Forked& event);
    void on(const Execed& event);
    void on(const Exited& event);
    void on(const Moved& event);
    void on(const CgroupsChanged&) {}

    TrackedProcess* find(const ProcessId& id);
    TrackedProcess& admit(TaskSample task);
    static void refresh(TrackedProcess& known, const TaskSample& sample);
    void place(TrackedProcess& process, CgroupId target);
    void end(std::unordered_map<pid_t, TrackedProcess>::iterator process);

    std::uint64_t since_;
    std::unordered_map<pid_t, TrackedProcess> living_;  // by pid: the kernel has one process per pid at a time
    std::vector<TrackedProcess> ended_;
    std::unordered_map<pid_t, ProcessId> missing_;  // in the table but not in the last scan
    std::uint64_t missed_exits_ = 0;
};

}  // namespace memscope
