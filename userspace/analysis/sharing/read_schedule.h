#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// Whose page tables to walk next, so that neither we nor those we look at pay much for it: walking takes time of ours
// for every page, and meanwhile the process cannot map memory.
class ReadSchedule {
  public:
    struct Candidate {
        ProcessId id{};
        Bytes resident{};
        bool forked = false;  // without exec: it may share memory with its parent
    };
    struct Cost {
        Seconds cpu{};   // of ours
        Seconds held{};  // how long the process could have been kept waiting
    };

    struct Choice {
        ProcessId id{};
        bool whole = true;  // else a sample of its pages, for it is too large
        auto operator<=>(const Choice&) const = default;
    };

    static constexpr double kShareOfCore = 0.01;
    static constexpr Seconds kMostHeldPerMinute{0.050};
    // How long a process may have to wait is known only afterwards, so what is foreseen to come near is not tried.
    static constexpr Seconds kLongestWalk{0.020};
    static constexpr Seconds kLongestSample{0.020};

    ReadSchedule();

    // Who is to be read now, in this order, and no more than the budget allows as far as costs can be foreseen. Those
    // that are no candidates any more are forgotten. `now`: any clock that does not jump.
    std::vector<Choice> choose(Seconds now, std::span<const Candidate> candidates);
    // What a read that was chosen has cost, be it in vain.
    void took(Seconds now, ProcessId id, Cost cost);

  private:
    struct Record {
        bool read = false;
        bool forked = false;
        bool whole = true;
        Bytes resident{};  // when it was chosen
        Seconds next{};    // not before
        int too_long = 0;  // how often it was held longer than a minute may cost
        std::uint64_t seen = 0;
    };

    void earn(Seconds now);
    Seconds walk_of(Bytes resident) const;

    std::map<ProcessId, Record> records_{};
    Seconds earned_{0.05};  // what may be spent; below 0: a read took longer than foreseen
    Seconds earned_at_{-1};
    double ns_per_mib_;  // what the slowest walk took
    std::uint64_t round_ = 0;
};

}  // namespace memscope
