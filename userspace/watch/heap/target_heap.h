#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "analysis/heap/census_schedule.h"
#include "model/snapshot.h"
#include "watch/heap/container_watch.h"

namespace memscope {

// Keeps the latest heap census of each process of one target, and decides when the next censuses are wanted. Of the
// censuses with Python objects it keeps two for each process: the latest, and the first one after the warm-up, so that
// their difference covers the whole time of a leak.
class TargetHeap {
  public:
    // `while_leaking`: see CensusTrigger.
    explicit TargetHeap(Seconds while_leaking) : start_(while_leaking / 180), trigger_(while_leaking) {}

    // `containers`: their lengths, which tell about containers that the census has missed; null: not known.
    void add(HeapCensus census, const ContainerWatch* containers = nullptr);
    // Fills in `heap`. Drops the censuses of processes that are gone. `containers`: their lengths since the censuses;
    // null: not known.
    void describe(TargetSnapshot& out, const ContainerWatch* containers = nullptr);
    // The censuses that are wanted because of this tick. `out` has its processes, heap, verdicts and precursors.
    // `few_targets`: so few are watched that the user probably waits for an answer about each of them.
    std::vector<CensusWish> wishes(Seconds now, const TargetSnapshot& out, bool few_targets = false);

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

    void add_objects(Kept& kept, const ContainerCurves* lengths);
    std::map<ProcessId, Kept>::iterator find_oldest_objects();
    const Process* stand_in(const Process& process, const TargetSnapshot& out) const;
    bool lacks_difference(const TargetSnapshot& out) const;
    std::optional<CensusWish> early_census(Seconds now, const TargetSnapshot& out);
    std::optional<CensusWish> census_for_answer(const TargetSnapshot& out);

    std::map<ProcessId, Kept> kept_{};
    std::set<ProcessId> rebase_{};  // the next census with objects becomes the baseline
    StartWatch start_;
    Seconds saved_ = CensusSchedule::kSaved;
    std::optional<ProcessId> early_process_{};
    std::optional<double> early_census_seen_{};  // time of the census that led to the latest wish
    int early_ = 0;                              // number of early censuses that were wanted
    std::optional<double> unanswered_seen_{};    // time of the census that led to the latest wish for an answer
    int unanswered_ = 0;                         // number of these wishes since the leak was found
    CensusTrigger trigger_;
};

}  // namespace memscope
