#pragma once
#include <algorithm>
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
#include "model/heap/heap.h"
#include "model/judgement.h"
#include "model/memory.h"
#include "model/precursor.h"
#include "model/processes/process.h"
#include "model/reclaim.h"
#include "model/sharing.h"

namespace memscope {

// A process of a target as outputs show it.
struct Process {
    TaskSample task{};
    Role role = Role::other;
    std::optional<int> rank{};                     // rank of its series
    std::optional<int> folded_rank{};              // its rank, if `rank` is none because the target has too many ranks
    std::optional<int> slot{};                     // of a DataLoader or compile worker and of its successor
    double start_time = 0;                         // seconds since 1970
    std::shared_ptr<const std::string> command{};  // argv joined by spaces, bounded, any bytes; null: none
    // Inherited anonymous pages that it still shares and that count for another process: its parent, or its siblings if
    // the parent no longer has them. analysis/roles/own_memory sets it.
    Bytes inherited{};
    // Its part of inherited pages that its parent no longer has, so that they count for this process.
    Bytes orphaned{};
    bool own_known = true;  // false: only an upper bound of `inherited` is known yet

    // Own memory. Summed over all processes of a target, it counts each page once.
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
    Bytes inherited{};  // part of `anon`, as in Process
    bool own_known = true;

    Bytes own_anon() const { return anon - inherited; }
};

// Counters of a role. They continue across generations of workers and never fall.
struct RoleCounters {
    std::uint64_t starts = 0;
    std::uint64_t exits = 0;
    Faults faults{};
    std::optional<Mappings> mappings{};  // none: mapped bytes are not followed

    RoleCounters& operator+=(const RoleCounters& other);
};

struct TargetInfo {
    std::string name{};           // of a cgroup: its path below the hierarchy; else "pid:..." or "cmd:..."
    std::string kind = "cgroup";  // "cgroup", "pid" or "command"
    int cgroup_version = 2;       // of the hierarchy that has the memory controller
    std::optional<pid_t> pid{};   // of the watched process or command, also after its end; none for a cgroup
};

// The process that grew most, and its position in the process tree.
struct Grower {
    pid_t pid = 0;
    std::string comm{};  // any bytes
    RoleKey role{};
    Bytes grown{};  // growth of its own memory
    Seconds over{};
    int levels = 0;     // number of levels below the root of the tree
    std::string top{};  // comm of the root
    double share = 1;   // of the growth of the target or the role in that time, 0 to 1
};

// Recent growth of a scope by own line.
struct GrowingLines {
    double repeated = 0;  // share of the growth at lines that had grown before
    std::string most{};   // the line with most of the growth; any bytes
    double share = 0;     // its share of the growth
    int times = 0;        // number of times that it grew
    bool keeps = false;   // `most` keeps the memory, by a plane that knows owners; false: it touched the memory first
};

// The main cause of the rise since a leak or a warm-up began, if it is not memory that a program keeps.
struct GrowthCause {
    enum class Kind {
        unsharing,
        shared_memory,
        page_tables,
        kernel,
        malloc_free,  // freed blocks that malloc keeps
        python_free,  // free blocks and pools of pymalloc
    };
    Kind kind = Kind::unsharing;
    Bytes bytes{};
    double share = 0;  // of the rise, 0 to 1
};
std::string_view name_of(GrowthCause::Kind kind);

// A holder or a line that has grown at every reading and has given nothing back, before the verdict says `leaking`. It
// is withdrawn when that ends.
struct Suspect {
    enum class Kind { holder, line };
    Kind kind = Kind::holder;
    std::string name{};  // the path of the holder, or the line; any bytes
    double bytes_per_second = 0;
    double share = 0;    // of the growth of the scope, 0 to 1
    double since = 0;    // seconds since 1970
    std::string text{};  // a sentence
};
std::string_view name_of(Suspect::Kind kind);

// The scopes of verdicts: the whole target, the own memory of a role, the memory of a GPU that the target holds, and
// the host memory that it has pinned. Metrics and JSON export the names.
enum class VerdictScope { target, role, gpu, pinned };
std::string_view name_of(VerdictScope scope);

// Times are seconds since 1970.
struct ScopeVerdict {
    VerdictScope scope = VerdictScope::target;
    std::optional<RoleKey> role{};  // only for the scope `role`
    GpuId gpu{};                    // only for the scope `gpu`
    Seconds began{};                // start of its series
    Judgement judgement{};
    // For the limit that is reached first: only for the scope `target`, or for the memory of a GPU. It is valid now: it
    // is updated with the clock and the current size, even if the judgement is older.
    std::optional<Forecast> forecast{};
    std::optional<Grower> grower{};       // the process that grows most
    std::optional<GrowingLines> lines{};  // the lines that grow; none: not known, or too early
    std::optional<GrowthCause> cause{};   // none: memory that a program keeps, or not known
    std::string holders{};  // a sentence: which containers of Python have grown; empty: not known. Any bytes
    std::optional<Suspect> suspect{};
    std::string explanation{};  // one or two sentences for users
};

struct TargetSnapshot {
    TargetInfo info{};
    RunId run = kNoRun;  // the current run of its job, or the last one until the next begins
    bool up = true;      // false: the target has ended, and these are its last values
    MemoryState memory{};
    std::vector<Process> processes{};  // by pid
    std::map<RoleKey, RoleTotals> roles{};
    std::map<RoleKey, RoleCounters> counters{};
    std::optional<ShmUsage> shm{};
    Sharing sharing{};
    std::optional<TargetGpu> gpu{};                  // none: it has no GPU memory, or that is not known
    std::optional<ReclaimStalls> reclaim{};          // none: the kernel has no hook for it
    std::vector<Precursor> precursors{};             // active ones, in the order of kPrecursorKinds
    std::optional<std::vector<LineGrowth>> lines{};  // largest first; none: not read at this tick
    std::vector<ScopeVerdict> verdicts{};            // first the target, then roles, GPUs, pinned memory
    std::vector<Death> deaths{};                     // since the last tick, in order of time
    DeathTally death_tally{};                        // of all deaths
    std::optional<Death> last_death{};               // the latest death with `news`, at any time
    std::vector<ProcessHeap> heap{};                 // of processes that have a census, largest first

    const ScopeVerdict* verdict() const { return verdicts.empty() ? nullptr : &verdicts.front(); }
};

struct Probe {
    std::string name{};  // "tree", "tasks"
    bool attached = false;
};

// The recordings of the watcher.
struct RecordingState {
    bool up = false;  // false: the last write failed, or no file can be written
    Bytes bytes{};    // of all recordings in the directory
};

// Resource use of the watcher itself.
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
    std::map<std::string, std::uint64_t> dropped{};  // by reason; has every reason from the start
    // Cgroups that should be watched but are not at this tick, because memscope has no file descriptor left for them.
    std::uint64_t unwatched_targets = 0;
    std::vector<Probe> probes{};
    ActionTally actions{};                      // commands of the user
    std::optional<RecordingState> recording{};  // none: recording is switched off
};

// Everything that is known at one tick: sources fill it, analysis reads it, outputs render it.
struct Snapshot {
    double time = 0;  // seconds since 1970
    HostMemory host{};
    std::vector<GpuDevice> gpus{};          // of the host, by index; empty without a driver
    std::vector<TargetSnapshot> targets{};  // by name
    SelfSample self{};
    // Names of targets that exist, but are not in `targets` because their memory could not be read at this tick.
    // A class that keeps data by the name of a target keeps the data of these targets.
    std::vector<std::string> unread{};  // sorted

    bool has_unread(const std::string& name) const { return std::ranges::binary_search(unread, name); }
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

// Binary search, because there can be thousands of targets. Null if there is no target of that name.
const TargetSnapshot* find_target(const Snapshot& snapshot, const std::string& name);

}  // namespace memscope
