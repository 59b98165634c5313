#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/deaths/action.h"
#include "model/deaths/death.h"
#include "model/gpu/gpu.h"
#include "model/growth/growth.h"
#include "model/judgement.h"
#include "model/memory.h"
#include "model/precursor.h"
#include "model/processes/process.h"
#include "model/reclaim.h"
#include "model/sharing.h"

namespace memscope {

// A process of a target as people and scripts see it.
struct Process {
    TaskSample task{};
    Role role = Role::other;
    std::optional<int> rank{};                     // that its series are kept by
    std::optional<int> folded_rank{};              // its rank, where `rank` is left out because there are too many
    std::optional<int> slot{};                     // of a worker: the same for its successor after it
    double start_time = 0;                         // seconds since 1970
    std::shared_ptr<const std::string> command{};  // argv joined by spaces, bounded, any bytes; null: none
    // Anonymous pages that a fork gave it, that it still shares, and that another process is counted for: its parent,
    // or its siblings where the parent has them no more. analysis/own_memory fills it in.
    Bytes inherited{};
    // Its part of inherited pages that its parent has no more, so that it is counted for them.
    Bytes orphaned{};
    bool own_known = true;  // false: nothing but an upper bound of `inherited` is known yet

    // Anonymous memory that it holds for itself. Over all processes of a target this counts each page once.
    Bytes own_anon() const { return task.memory ? task.memory->anon - inherited : Bytes{}; }
    std::optional<int> own_rank() const { return rank ? rank : folded_rank; }
    std::string_view command_text() const { return command ? std::string_view(*command) : std::string_view(); }
};

// Gauges of a role: sums over its living processes.
struct RoleTotals {
    Bytes anon{};
    Bytes file{};
    Bytes shmem{};
    Bytes swap{};
    std::uint64_t processes = 0;
    std::uint64_t threads = 0;
    Bytes inherited{};  // of `anon`, as a process has it
    bool own_known = true;

    Bytes own_anon() const { return anon - inherited; }
};

// Counters of a role: they live on across generations of workers and never go down.
struct RoleCounters {
    std::uint64_t starts = 0;
    std::uint64_t exits = 0;
    Faults faults{};
    std::optional<Mappings> mappings{};  // none: the signal is off

    RoleCounters& operator+=(const RoleCounters& other);
};

struct TargetInfo {
    std::string name{};           // the path below the hierarchy
    std::string kind = "cgroup";  // cgroup; later pid, command
    int cgroup_version = 2;       // of the hierarchy the memory controller is on
};

// The process that grew most, and where it stands in its tree.
struct Grower {
    pid_t pid = 0;
    std::string comm{};  // any bytes
    RoleKey role{};
    Bytes grown{};  // of what it holds for itself
    Seconds over{};
    int levels = 0;     // below the top of the tree
    std::string top{};  // the comm of that one
    double share = 1;   // of what the target, or the role, rose by in that time: 0 to 1
};

// Where a scope has grown lately, line by line.
struct GrowingLines {
    double repeated = 0;  // of that growth: at lines that had grown before
    std::string most{};   // the line that took most; any bytes
    double share = 0;     // its part
    int times = 0;        // that it was seen to grow
};

// What made up most of the rise since a leak or a warm-up began, where that is not memory that a program keeps.
struct GrowthCause {
    enum class Kind { unsharing, shared_memory, page_tables, kernel };
    Kind kind = Kind::unsharing;
    Bytes bytes{};
    double share = 0;  // of the rise, 0 to 1
};
std::string_view name_of(GrowthCause::Kind kind);

// CONTRACT: what is judged. All of a target, the anonymous memory that a role holds for itself, what the target holds
// of a GPU, and the host memory it has pinned.
enum class VerdictScope { target, role, gpu, pinned };
std::string_view name_of(VerdictScope scope);

// Times are seconds since 1970.
struct ScopeVerdict {
    VerdictScope scope = VerdictScope::target;
    std::optional<RoleKey> role{};  // of the scope `role` alone
    GpuId gpu{};                    // and of the scope `gpu`
    Seconds began{};                // when its series did
    Judgement judgement{};
    // Of the limit that is reached first, so of the target alone, or of a GPU's memory. It holds now: it is aged by the
    // clock and by what is held, however old the judgement is.
    std::optional<Forecast> forecast{};
    std::optional<Grower> grower{};       // who grows
    std::optional<GrowingLines> lines{};  // and where; none: not known, or too early to say
    std::optional<GrowthCause> cause{};   // of the growth; none: memory that a program keeps, or nothing is known
    std::string explanation{};            // a sentence or two for people
};

struct TargetSnapshot {
    TargetInfo info{};
    RunId run = kNoRun;  // the current run of its job, or the last one until another begins
    bool up = true;      // false once the target has ended and its last values linger
    MemoryState memory{};
    std::vector<Process> processes{};  // by pid
    std::map<RoleKey, RoleTotals> roles{};
    std::map<RoleKey, RoleCounters> counters{};
    std::optional<ShmUsage> shm{};
    Sharing sharing{};
    std::optional<TargetGpu> gpu{};                  // none: it has no GPU memory, or nobody can tell
    std::optional<ReclaimStalls> reclaim{};          // none: the kernel has no hook for it
    std::vector<Precursor> precursors{};             // those that stand, in the order of kPrecursorKinds
    std::optional<std::vector<LineGrowth>> lines{};  // largest first; none: not looked at in this tick
    std::vector<ScopeVerdict> verdicts{};            // that of the target first, then by role, by GPU, pinned memory
    std::vector<Death> deaths{};                     // since the tick before, in their order
    DeathTally death_tally{};                        // all of them
    std::optional<Death> last_death{};               // the latest that was news, whenever that was

    const ScopeVerdict* verdict() const { return verdicts.empty() ? nullptr : &verdicts.front(); }
};

struct Probe {
    std::string name{};  // "tree", "tasks"
    bool attached = false;
};

// The watcher watching itself.
struct SelfSample {
    Seconds cpu{};
    Bytes resident{};
    Bytes virtual_size{};
    std::uint64_t open_files = 0;
    std::uint64_t max_open_files = 0;
    std::uint64_t threads = 0;
    double start_time = 0;  // seconds since 1970
    Bytes bpf_maps{};
    Seconds tick_duration{};
    std::map<std::string, std::uint64_t> dropped{};  // by reason, every reason present from the start
    // Cgroups that should be watched and are not at this tick, because memscope has no file descriptor left for them.
    std::uint64_t unwatched_targets = 0;
    std::vector<Probe> probes{};
    ActionTally actions{};  // commands of the user's that were run
};

// The one value that flows: sources fill it, analysis reads it, outputs render it.
struct Snapshot {
    double time = 0;  // seconds since 1970
    HostMemory host{};
    std::vector<GpuDevice> gpus{};          // of the machine, by index; none without a driver
    std::vector<TargetSnapshot> targets{};  // by name
    SelfSample self{};
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

// By binary search, because there can be thousands of targets. Null: it has no target of that name.
const TargetSnapshot* find_target(const Snapshot& snapshot, const std::string& name);

}  // namespace memscope
