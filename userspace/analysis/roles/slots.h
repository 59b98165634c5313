#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "model/processes/process.h"

namespace memscope {

// Places of workers within their job. Workers are forked anew each epoch; whoever comes takes the lowest free place, in
// the order of their starts, so that worker 3 of an epoch is worker 3 of the next although its pid is another.
class SlotBook {
  public:
    struct Subject {
        ProcessId id{};
        CgroupId target = kNoCgroup;
        RoleKey role{};
        bool ended = false;
    };

    // The place of each, in their order; none for those whose role has no places. Who is not among them is forgotten.
    std::vector<std::optional<int>> assign(std::span<const Subject> subjects);

  private:
    struct Place {
        CgroupId target = kNoCgroup;
        RoleKey role{};
        int slot = 0;
        auto operator<=>(const Place&) const = default;
    };
    std::map<ProcessId, Place> taken_{};
};

}  // namespace memscope
