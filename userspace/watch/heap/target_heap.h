#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "analysis/heap/census_schedule.h"
#include "model/snapshot.h"

namespace memscope {

// Keeps the latest heap census of each process of one target, and decides when the next censuses are wanted. Of the
// censuses with Python objects it keeps two for each process: the latest, and the first one after the warm-up, so that
// their difference covers the whole time of a leak.
class TargetHeap {
  public:
    // `while_leaking`: see CensusTrigger.
    explicit TargetHeap(Seconds while_leaking) : early_census_after_(while_leaking / 90), trigger_(while_leaking) {}

    void add(HeapCensus census);
    // Fills in `heap`. Drops the censuses of processes that are gone.
    void describe(TargetSnapshot& out);
    // The censuses that are wanted because of this tick. `out` has its processes, heap, verdicts and precursors.
    // `only_target`: nothing else is watched, so the user probably waits for an answer about this target.
    std::vector<CensusWish> wishes(Seconds now, const TargetSnapshot& out, bool only_target = false);

    Bytes objects_size() const;              // memory of the censuses with objects
    std::optional<double> oldest_objects();  // oldest time of a latest census with objects
    void drop_oldest_objects();              // and keeps its summary

  private:
    static constexpr std::size_t kMostProcesses = 16;  // a user can ask for any process; the oldest census is dropped

    struct Kept {
        HeapCensus census{};
        std::optional<HeapCensus> earlier{};
        std::shared_ptr<const HeapCensus> baseline{};      // with objects; null: there is none yet
        std::shared_ptr<const HeapCensus> with_objects{};  // the latest one; null: there is none
        std::optional<HeldObjects> held{};
    };

    void add_objects(Kept& kept);
    std::map<ProcessId, Kept>::iterator find_oldest_objects();
    const Process* stand_in(const Process& process, const TargetSnapshot& out) const;
    bool lacks_difference(const TargetSnapshot& out) const;
    std::optional<CensusWish> early_census(Seconds now, const TargetSnapshot& out);

    std::map<ProcessId, Kept> kept_{};
    std::set<ProcessId> rebase_{};  // the next census with objects becomes the baseline
    Seconds early_census_after_;
    std::optional<Seconds> began_{};  // when a process was first large enough
    std::optional<ProcessId> early_process_{};
    std::optional<double> early_census_seen_{};  // time of the census that led to the latest wish
    int early_ = 0;                              // number of early censuses that were wanted
    CensusTrigger trigger_;
};

}  // namespace memscope
