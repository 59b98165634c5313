#pragma once
#include <optional>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// Marks the last values of a target as those of one that has ended: nothing announces an end that has come, and nothing
// is foreseen for processes that are gone.
void end_target(TargetSnapshot& target);

// Notices the tick at which the processes that held most of a target's memory are gone, or the process that made it
// grow: what was foreseen for them does not hold for the processes that remain or follow.
class JobEnd {
  public:
    // `target` has its processes and the deaths of this tick. `held` is what is judged of it. `grower` is the process
    // that grew most up to the tick before, where the target grew.
    bool look_at(const TargetSnapshot& target, Bytes held, std::optional<pid_t> grower);

  private:
    struct Member {
        ProcessId id{};
        Role role = Role::other;
        Bytes held{};  // anonymous memory, in RAM or swapped out
    };
    std::vector<Member> members_{};  // of the tick before, by id
    Bytes held_{};                   // by the target, at the tick before
};

}  // namespace memscope
