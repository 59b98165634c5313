#pragma once
#include <functional>
#include <map>
#include <optional>

#include "analysis/heap/container_curves.h"
#include "model/heap/heap.h"
#include "model/processes/process_table.h"
#include "watch/helpers/read_jobs.h"

namespace memscope {

// Decides when the lengths of containers are read again, and keeps their curves: after each census of the objects of a
// process, every 5 s while the process or one of its containers grows, else every minute. A look takes at most 0.5 % of
// a core: if looks are expensive, they are rarer. At most kMostContainers are followed in all processes together (10
// MB); if there are more, the process whose census is oldest is dropped.
class ContainerWatch {
  public:
    static constexpr std::size_t kMostContainers = 100'000;
    static constexpr Seconds kWhileGrowing{5};
    static constexpr Seconds kOtherwise{60};
    static constexpr double kMostShare = 0.005;  // of a core

    // `nullopt`: not answered yet, ask again.
    using Read = std::function<std::optional<Result<LengthsAnswer>>(const LengthsJob&)>;

    // The containers of a census. Nothing changes if it has none.
    void add(const HeapCensus& census);
    // Takes the answer of the helper, and asks for the next look if one is due. Called once per tick, and when the
    // helper's descriptor is readable. `now`: boot clock.
    void pump(Seconds now, const ProcessTable::Living& living, const Read& read);

    bool is_waiting() const { return current_.has_value(); }  // for the answer of the helper

    const ContainerCurves* find(const ProcessId& process) const;
    std::size_t containers() const;

  private:
    struct Followed {
        ContainerCurves curves{};
        double census = 0;                // time of the latest one
        std::optional<Bytes> anon{};      // at the last look
        std::optional<Seconds> looked{};  // none: there was no look since the census
        Seconds cost{};                   // CPU time of the last look
    };
    bool is_due(Seconds now, const Followed& followed, const TrackedProcess& process) const;
    bool begin_next(Seconds now, const ProcessTable::Living& living);

    std::map<ProcessId, Followed> followed_{};
    std::optional<LengthsJob> current_{};
    std::uint64_t jobs_ = 0;
};

}  // namespace memscope
