#pragma once
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "model/snapshot.h"

// When memscope takes heap censuses by itself, and of which processes.
namespace memscope {

// A census that memscope wants to take.
struct CensusWish {
    ProcessId process{};
    Bytes anon{};          // its size, for an estimate of the cost
    bool urgent = false;   // false: a census after the warm-up, to compare later ones with
    bool objects = false;  // also a census of its Python objects
    bool soon = false;     // may follow the last census after a twentieth of the usual time
    bool always = false;   // a leak was just found: like `soon`, and the budget is ignored
    Seconds saved{};       // CPU time that its target may still use in addition to the budget
};

// Chooses the processes of a target of which a census is taken: for each role and rank, the process with the most own
// anonymous memory. At most four, largest first. Leaves out processes that hold only a small part of the memory.
constexpr std::size_t kMostCensuses = 4;  // of a target, at a time
std::vector<CensusWish> largest_processes(std::span<const Process> processes);
// The number of processes that are large enough for a census. `role`: only processes of this role and rank.
std::size_t count_large(std::span<const Process> processes, const std::optional<RoleKey>& role = {});

// Decides at which ticks of a target censuses are wanted: when its warm-up ends, when a verdict of the target, of a
// role or of a GPU becomes `leaking`, and again from time to time while it leaks, and when a precursor becomes active.
class CensusTrigger {
  public:
    // `while_leaking`: time between two censuses during a leak. Censuses are repeated, because a leak continues for
    // hours and a census says nothing about memory that grew after it.
    explicit CensusTrigger(Seconds while_leaking) : while_leaking_(while_leaking) {}

    enum class Reason { none, warmup_ended, urgent, leak_found };
    Reason update(Seconds now, const TargetSnapshot& target);

  private:
    Seconds while_leaking_;
    bool warmed_up_ = false;
    using Scope = std::tuple<VerdictScope, std::optional<RoleKey>, GpuId>;
    std::set<Scope> leaking_{};
    std::set<PrecursorKind> precursors_{};
    Seconds last_urgent_{};
};

// Notices the end of the imports and of the loading with which a program begins. A census during the imports says
// nothing about the program, and its containers grow until the imports end.
class StartWatch {
  public:
    // `window`: growth is measured over this time.
    explicit StartWatch(Seconds window) : window_(window) {}
    // Called once per tick. `files`: resident pages of files, because imports map libraries. `age`: of the process.
    // True once they grow at less than a fifth of their fastest rate, or by little; for a process that is not young,
    // after one window; at the latest after kLatest windows.
    bool has_calmed(Seconds now, Bytes files, Seconds age);

  private:
    static constexpr double kLatest = 6;
    struct Size {
        Seconds at{};
        Bytes files{};
    };
    Seconds window_;
    std::optional<Seconds> began_{};
    std::deque<Size> sizes_{};   // of one window
    std::uint64_t fastest_ = 0;  // growth in a window
};

// Bounds the cost of censuses that memscope takes by itself: at most one census of each process in five minutes
// (`again`), or in a twentieth of that time if CensusWish says `soon` or `always`. Averaged over an hour, censuses with
// Python objects take no more CPU time than the larger of 1 % of a core and 0.1 % of all cores, at most 10 % of a core,
// and censuses without objects a tenth of that. A census that is too early or too expensive waits. If only its objects
// are too expensive, it is taken without them. The first census of a leak is always taken, and the first ones of each
// target up to kSaved.
class CensusSchedule {
  public:
    static constexpr Seconds kAgain = std::chrono::minutes(5);
    static constexpr Seconds kWindow = std::chrono::hours(1);
    static constexpr Seconds kSaved{5};  // CPU time for each target at the start

    // `cores`: of the machine.
    explicit CensusSchedule(Seconds again = kAgain, unsigned cores = 1);

    // If a census of the process is wanted already, it keeps its place in the queue. It becomes urgent if one of the
    // two wishes is urgent.
    void want(Seconds now, const CensusWish& wish);
    // The next census, urgent ones first. None: none is wanted, or none may be taken yet. `now`: any monotonic clock.
    std::optional<CensusWish> next(Seconds now);
    // Counts the cost of a census, also of one that a user asked for. `objects`: it has Python objects.
    void took(Seconds now, const ProcessId& process, Bytes anon, Seconds cpu, bool objects = false);
    // Forgets processes that have ended.
    void keep_only(const std::function<bool(const ProcessId&)>& lives);

    std::size_t waiting() const { return wishes_.size(); }
    // CPU time of a census of a process of this size.
    Seconds estimate(Bytes anon, bool objects = false) const;

  private:
    struct Waiting {
        CensusWish wish{};
        Seconds since{};
    };
    struct Spent {
        Seconds at{};
        Seconds cpu{};
    };
    // The cost of one kind of census.
    struct Ledger {
        std::deque<Spent> spent{};  // in the last window, by minute
        double seconds_per_byte;    // CPU time of a census

        Seconds sum(Seconds now);
        void add(Seconds now, Seconds cpu);
    };

    bool fits(Seconds now, const CensusWish& wish, bool objects);

    Seconds again_;
    Seconds objects_budget_;  // CPU time of censuses with objects in any window
    Seconds budget_;          // of the others
    std::deque<Waiting> wishes_{};
    std::map<ProcessId, Seconds> last_{};  // when its last census began or ended
    Ledger parts_;
    Ledger objects_;
};

}  // namespace memscope
