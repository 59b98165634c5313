#pragma once
#include <map>
#include <optional>
#include <span>

#include "model/snapshot.h"

namespace memscope {

// Which process grows: what each held for itself a while ago, in two looks, so that growth is told over one to two
// windows whatever the number of ticks in between.
class Growers {
  public:
    explicit Growers(Seconds window) : window_(window) {}

    // `judged`: the memory of the target that is judged.
    void look_at(Seconds now, const TargetSnapshot& target, Bytes judged);
    // The one that grew most, of a role or of all. None where nobody grew by 1 MiB and by a fifth of what the role or
    // the target rose by meanwhile: somebody always grows most, and that one need not be the reason.
    std::optional<Grower> most_grown(std::span<const Process> processes, const std::optional<RoleKey>& role) const;

  private:
    struct Look {
        Seconds at{};
        Bytes own{};
        Bytes target{};  // judged memory of all
        Bytes role{};    // what its role held for itself
    };
    struct Past {
        Look before;
        Look since;
        Look latest;
    };
    Seconds window_;
    Seconds looked_{-1e9};
    std::map<ProcessId, Past> past_{};
};

}  // namespace memscope
