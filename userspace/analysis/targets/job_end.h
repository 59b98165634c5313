#pragma once
#include <optional>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// Marks the last values of a target that has ended: removes its precursors and forecasts, because its processes have
// exited.
void end_target(TargetSnapshot& target);

// Detects the tick at which the processes that held most of a target's memory, or the process that made it grow, have
// exited: a forecast for them is not valid for the processes that remain or follow.
class JobEnd {
  public:
    // `target` contains its processes and the deaths of this tick. `held` is its judged memory. `grower` is the process
    // that grew most up to the previous tick, if the target grew.
    bool update(const TargetSnapshot& target, Bytes held, std::optional<pid_t> grower);

  private:
    struct Member {
        ProcessId id{};
        Role role = Role::other;
        Bytes held{};  // anonymous memory, in RAM or swapped out
    };
    std::vector<Member> members_{};  // of the previous tick, by id
    Bytes held_{};                   // judged memory of the target at the previous tick
};

}  // namespace memscope
