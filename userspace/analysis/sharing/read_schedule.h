#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// Chooses the processes whose page tables are walked next, and bounds the cost: a walk takes CPU time of the watcher
// for every page, and the process cannot map memory meanwhile.
class ReadSchedule {
  public:
    struct Candidate {
        ProcessId id{};
        Bytes resident{};
        bool forked = false;  // forked without exec: it may share memory with its parent
    };
    struct Cost {
        Seconds cpu{};   // CPU time of the watcher
        Seconds held{};  // upper bound of the time that the process had to wait
    };

    struct Choice {
        ProcessId id{};
        bool whole = true;  // false: only a sample of its pages is read, because it is too large
        auto operator<=>(const Choice&) const = default;
    };

    static constexpr double kShareOfCore = 0.01;
    static constexpr Seconds kMostHeldPerMinute{0.050};
    // The waiting time of a process is known only after the read, so a read that may come near the limit is not
    // started.
    static constexpr Seconds kLongestWalk{0.020};
    static constexpr Seconds kLongestSample{0.020};

    ReadSchedule();

    // The processes to read now, in this order, within the budget as far as costs can be estimated. Processes that are
    // not candidates any more are forgotten. `now`: any monotonic clock.
    std::vector<Choice> choose(Seconds now, std::span<const Candidate> candidates);
    // Records the cost of a chosen read, also of a failed one.
    void took(Seconds now, ProcessId id, Cost cost);

  private:
    struct Record {
        bool read = false;
        bool forked = false;
        bool whole = true;
        Bytes resident{};  // when it was last chosen
        Seconds next{};    // earliest time of the next read
        int too_long = 0;  // how often it was held longer than the budget of one minute
        std::uint64_t seen = 0;
    };

    void earn(Seconds now);
    Seconds walk_of(Bytes resident) const;

    std::map<ProcessId, Record> records_{};
    Seconds earned_{0.05};  // the remaining budget; below 0: a read took longer than estimated
    Seconds earned_at_{-1};
    double ns_per_mib_;  // cost of the slowest walk
    std::uint64_t round_ = 0;
};

}  // namespace memscope
