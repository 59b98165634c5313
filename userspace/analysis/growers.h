#pragma once
#include <map>
#include <optional>
#include <span>

#include "model/snapshot.h"

namespace memscope {

// Which process grows: what each held a while ago, in two looks, so that growth is told over one to two windows
// whatever the number of ticks in between.
class Growers {
  public:
    explicit Growers(Seconds window) : window_(window) {}

    void look_at(Seconds now, std::span<const Process> processes);
    // The one that grew most, of a role or of all. None where nobody grew.
    std::optional<Grower> most_grown(std::span<const Process> processes, const std::optional<RoleKey>& role) const;

  private:
    struct Look {
        Seconds at{};
        Bytes anon{};
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
