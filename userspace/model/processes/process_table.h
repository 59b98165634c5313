#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "model/processes/process.h"
#include "model/processes/tree_event.h"

namespace memscope {

// A change of the innermost target of a process; kNoCgroup: no target. A start and an exit are crossings, too.
struct Crossing {
    CgroupId from = kNoCgroup;
    CgroupId to = kNoCgroup;
};

// One process while it is watched, and until the tick after its exit.
struct TrackedProcess {
    TaskSample task{};  // latest known state; task.target is the current target
    std::vector<std::string> argv{};
    std::shared_ptr<const std::string> command{};  // argv joined for display; null: not made yet
    std::optional<int> rank{};
    RoleKey role{};                    // key of its series
    std::optional<int> folded_rank{};  // its rank, if `role` has none because the target has too many ranks
    std::optional<int> slot{};         // of a DataLoader or compile worker
    std::uint32_t exec_count = 0;
    bool details_wanted = true;       // argv and rank have to be read from /proc
    bool growth_begun = false;        // its growth is followed
    bool gpu_context = false;         // has been seen on a GPU since its last exec
    std::optional<int> gpu_index{};   // index of the GPU, if it was seen on only one
    bool gpu_probes_begun = false;    // its calls of the CUDA driver and its GPU tensors are followed
    bool host_tensors_begun = false;  // its storages of PyTorch's host tensors are followed
    bool born_here = false;           // started while watched, so all its faults count
    bool scanned = false;             // `task` has values of a scan, not only of events
    bool baseline_wanted = false;     // faults before watching are not known yet, so none can be counted
    bool ended_unseen = false;        // not in the last scan, and its exit event had not come
    bool ended = false;
    int exit_code = 0;
    ProcessId root{};  // root of its process tree when it was added; does not change with its parent

    std::vector<Crossing> crossings{};    // since the last settle()
    Faults faults_counted{};              // part of task.faults that was already counted
    CgroupId settled_target = kNoCgroup;  // target at the last settle()
    bool settled = false;                 // it was counted before
    bool role_changed = false;            // since the last settle()
    bool mappings_changed = false;        // since the last settle()
    std::uint64_t mappings_activity = 0;
    std::optional<Mappings> mappings{};  // none: not followed
    Mappings mappings_counted{};         // part of `mappings` that was already counted

    Faults uncounted_faults() const;
    bool has_news() const;  // has changes to count, or was not counted before
    void settle();
    void take(const Mappings* latest, std::uint64_t activity);
    void retarget(CgroupId gone, CgroupId enclosing);
    CgroupId last_target() const;  // current target, or the last one before it left
};

// The arguments of the process, joined for display and bounded. Made now if `command` is not made yet.
std::shared_ptr<const std::string> command_line(const TrackedProcess& process);

// All watched processes, updated by events and corrected by each scan. Events and scans can overlap. Each has a time,
// and an older one never overwrites a newer one.
class ProcessTable {
  public:
    // Faults of processes that started before this time are not counted from their start.
    explicit ProcessTable(std::uint64_t watching_since_ns) : since_(watching_since_ns) {}

    void apply(const TreeEvent& event);
    // Applies the result of a scan that began at `began_ns`. All events up to its end must have been applied. If a
    // process is missing in two scans without an exit event, the event was lost. `is_ending` is called for missing
    // processes, because the exit of a large process takes a while.
    using IsEnding = std::function<bool(ProcessId)>;
    void reconcile(std::span<const ScannedTask> scan, std::uint64_t began_ns, const IsEnding& is_ending = {});
    // Call this when a target is not watched any more. Moves its processes to the enclosing target, or ends them if
    // there is none.
    void retarget(CgroupId gone, CgroupId enclosing);
    // Call this when ended processes have been counted. Living processes are settled one by one.
    void forget_ended();

    using Living = std::map<pid_t, TrackedProcess>;
    Living& living() { return living_; }
    const Living& living() const { return living_; }
    // Rises whenever roles may have changed: a process started, exited or called exec.
    std::uint64_t revision() const { return revision_; }
    void set_details(TrackedProcess& process, std::vector<std::string> argv, std::optional<int> rank);
    // The process was seen on the GPU with this index, or on several. Only the first call counts, because the rank of a
    // process must not change.
    void note_gpu_context(TrackedProcess& process, std::optional<int> only_index);
    std::vector<TrackedProcess>& ended() { return ended_; }
    const std::vector<TrackedProcess>& ended() const { return ended_; }
    std::uint64_t missed_exits() const { return missed_exits_; }

  private:
    void on(const Forked& event);
    void on(const Execed& event);
    void on(const Exited& event);
    void on(const Moved& event);
    void on(const CgroupsChanged&) {}
    void on(const LibraryMapped&) {}

    struct Departure {
        ProcessId id{};
        std::uint64_t time_ns = 0;
        auto operator<=>(const Departure&) const = default;
    };

    TrackedProcess* find(const ProcessId& id);
    TrackedProcess& admit(TaskSample task);
    void admit(const ScannedTask& scanned);
    void see(TrackedProcess& known, const ScannedTask& scanned);
    void refresh(TrackedProcess& known, const TaskSample& sample);
    void miss(Living::iterator process, std::uint64_t scan_began_ns, const IsEnding& is_ending);
    void place(TrackedProcess& process, CgroupId target);
    void end(Living::iterator process);

    std::uint64_t since_;
    Living living_;  // by pid, which is unique at any time
    std::vector<TrackedProcess> ended_;
    std::vector<Departure> departed_;  // since the last tick, unknown processes included; sorted by reconcile()
    std::vector<const ScannedTask*> in_order_;  // buffer of reconcile(), reused
    std::uint64_t missed_exits_ = 0;
    std::uint64_t revision_ = 0;
};

}  // namespace memscope
