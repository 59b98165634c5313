#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// Decides which roles with a rank have series of their own in one outermost target: gauges, counters, verdicts. A
// process can put any RANK into its environment, and every rank is a label. So a target has a fixed number of places
// for pairs of role and rank; processes that find no place are counted under their role without a rank. Targets that
// lie inside one another share the places of the outermost.
class RankPlaces {
  public:
    // A pair has about 33 series, so a target has at most about 3,200 series with a rank. This is enough for 16 GPUs
    // and six roles.
    static constexpr std::size_t kMost = 96;
    // A pair without processes keeps its place for at least this long, and longer until another pair needs the place:
    // workers come back in the next epoch, and the last values must be scraped.
    static constexpr Seconds kKeep{60};

    explicit RankPlaces(Seconds keep = kKeep) : keep_(keep) {}

    struct Subject {
        RoleKey wanted{};
        bool ended = false;
    };
    // The key under which each process is counted, in the order of `subjects`. All processes of the target must be
    // among the subjects, also those that ended since the last call. `now` is on the boot clock.
    std::vector<RoleKey> assign(std::span<const Subject> subjects, Seconds now);

    // True if a process without a place could get one now.
    bool is_due(Seconds now) const;

    // Pairs that lost their place since the last call. The caller drops everything that is kept by these pairs.
    std::vector<RoleKey> take_vacated() { return std::exchange(vacated_, {}); }

  private:
    struct Place {
        Seconds used{};       // when it last had a process
        bool in_use = false;  // it had a running process at the last assign()
    };

    bool use(const Subject& subject, Seconds now);
    bool take_place(const Subject& subject, Seconds now);

    Seconds keep_;
    std::map<RoleKey, Place> places_{};
    bool crowded_ = false;  // a process found no place at the last assign()
    std::vector<RoleKey> vacated_{};
};

}  // namespace memscope
