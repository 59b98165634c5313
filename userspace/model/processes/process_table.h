#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "model/processes/process.h"
#include "model/processes/tree_event.h"

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
    std::shared_ptr<const std::string> command{};  // the same joined, for people; null: not made yet
    std::optional<int> rank{};
    RoleKey role{};                    // that its series are kept by
    std::optional<int> folded_rank{};  // its rank, where `role` has none because the target has too many ranks
    std::optional<int> slot{};         // of a worker, within its job
    std::uint32_t exec_count = 0;
    bool details_wanted = true;      // argv and rank are to be read from /proc
    bool growth_begun = false;       // its growth is followed
    bool gpu_context = false;        // has been seen on a GPU since its last exec
    std::optional<int> gpu_index{};  // of that GPU, if it was seen on one alone
    bool cuda_begun = false;         // and its calls of the CUDA driver, if it has one
    bool born_here = false;          // all its faults are ours to count
    bool scanned = false;            // task has numbers of a scan, not only of events
    bool baseline_wanted = false;    // faults of before are not known yet, so that none can be booked
    bool ended_unseen = false;       // not in the last scan, and its exit event had not come
    bool ended = false;
    int exit_code = 0;
    ProcessId root{};  // the one at the top of its tree when it came; stays, whoever becomes its parent

    std::vector<Crossing> crossings{};    // since the last settle()
    Faults faults_booked{};               // what counters have had of task.faults
    CgroupId settled_target = kNoCgroup;  // where it was at the last settle()
    bool settled = false;                 // counters have had something of it
    bool role_changed = false;            // since the last settle()
    bool mappings_changed = false;        // since the last settle()
    std::uint64_t mappings_activity = 0;
    std::optional<Mappings> mappings{};  // none: not followed
    Mappings mappings_booked{};          // what counters have had of them

    Faults faults_to_book() const;
    bool has_news() const;  // something to book, if only that it is there
    void settle();
    void take(const Mappings* latest, std::uint64_t activity);
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
    // The result of a scan that began at `began_ns`; all events up to its end have been applied. A process that is
    // missing twice without an exit event has gone with its event lost.
    // `is_ending` is asked of those that no scan meets any more: it takes a large process a while to end.
    using IsEnding = std::function<bool(ProcessId)>;
    void reconcile(std::span<const ScannedTask> scan, std::uint64_t began_ns, const IsEnding& is_ending = {});
    // The target is watched no more: its processes are in what encloses it, or leave.
    void retarget(CgroupId gone, CgroupId enclosing);
    // They were booked. The living are settled one by one.
    void forget_ended();

    using Living = std::map<pid_t, TrackedProcess>;
    Living& living() { return living_; }
    const Living& living() const { return living_; }
    // Rises whenever a role may have to be decided anew: somebody came, went, executed another program.
    std::uint64_t revision() const { return revision_; }
    void set_details(TrackedProcess& process, std::vector<std::string> argv, std::optional<int> rank);
    // On the GPU of that index, or on several. The first time counts: who is a rank does not become another one.
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
    void on(const CudaMapped&) {}

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
    Living living_;  // by pid: the kernel has one process per pid at a time
    std::vector<TrackedProcess> ended_;
    std::vector<Departure> departed_;           // since the last tick, also of those never seen; sorted by reconcile()
    std::vector<const ScannedTask*> in_order_;  // a buffer of reconcile(), kept
    std::uint64_t missed_exits_ = 0;
    std::uint64_t revision_ = 0;
};

}  // namespace memscope
