#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "analysis/heap/census_schedule.h"
#include "model/snapshot.h"

namespace memscope {

// The latest heap census of each process of one target, and when the next ones are wanted. Of the censuses with Python
// objects it keeps two of each process: the latest, and the first one after the warm-up, so that a difference covers
// the whole time of a leak.
class TargetHeap {
  public:
    // `while_leaking`: see CensusTrigger.
    explicit TargetHeap(Seconds while_leaking) : first_look_after_(while_leaking / 90), trigger_(while_leaking) {}

    void add(HeapCensus census);
    // Fills in `heap`. Drops the censuses of processes that are gone.
    void describe(TargetSnapshot& out);
    // The censuses that are wanted because of this tick. `out` has its processes, heap, verdicts and precursors.
    // `only_target`: nothing else is watched, so somebody probably waits for an answer about this target.
    std::vector<CensusWish> wishes(Seconds now, const TargetSnapshot& out, bool only_target = false);

    Bytes objects_size() const;              // memory of the censuses with objects
    std::optional<double> oldest_objects();  // time of the oldest latest census with objects
    void drop_oldest_objects();              // keeps its summary

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
    std::optional<CensusWish> first_look(Seconds now, const TargetSnapshot& out);

    std::map<ProcessId, Kept> kept_{};
    std::set<ProcessId> rebase_{};  // the next census with objects becomes the baseline
    Seconds first_look_after_;
    std::optional<Seconds> began_{};  // when a process was first large enough
    std::optional<ProcessId> first_looked_at_{};
    std::optional<double> looked_{};  // time of the census after which the latest of these looks was wanted
    int looks_ = 0;
    CensusTrigger trigger_;
};

}  // namespace memscope
