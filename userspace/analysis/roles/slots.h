#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "model/processes/process.h"

namespace memscope {

// Assigns slots to the workers of a job. Workers are forked again in each epoch. A new worker takes the lowest free
// slot, in the order of their starts, so that worker 3 of one epoch is worker 3 of the next although its pid differs.
class SlotAssigner {
  public:
    struct Subject {
        ProcessId id{};
        CgroupId target = kNoCgroup;
        RoleKey role{};
        bool ended = false;
    };

    // The slot of each subject, in their order; none for roles without slots. Processes that are not among the subjects
    // are forgotten.
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
