#pragma once
#include <map>
#include <vector>

#include "analysis/heap/census_schedule.h"
#include "model/snapshot.h"

namespace memscope {

// The latest heap census of each process of one target, and when the next ones are wanted.
class TargetHeap {
  public:
    // `while_leaking`: see CensusTrigger.
    explicit TargetHeap(Seconds while_leaking) : trigger_(while_leaking) {}

    void add(HeapCensus census);
    // Fills in `heap`. Drops the censuses of processes that are gone.
    void describe(TargetSnapshot& out);
    // The censuses that are wanted because of this tick. `out` has its processes, verdicts and precursors.
    std::vector<CensusWish> wishes(Seconds now, const TargetSnapshot& out);

  private:
    static constexpr std::size_t kMostProcesses = 16;  // a user can ask for any process; the oldest census is dropped

    struct Kept {
        HeapCensus census{};
        std::optional<HeapCensus> earlier{};
    };
    std::map<ProcessId, Kept> kept_{};
    CensusTrigger trigger_;
};

}  // namespace memscope
