#pragma once
#include <map>
#include <optional>
#include <span>

#include "model/snapshot.h"

namespace memscope {

// Finds the process that grows. Keeps two earlier readings of each process's own memory, so that growth is measured
// over one to two windows, for any number of ticks in between.
class Growers {
  public:
    explicit Growers(Seconds window) : window_(window) {}

    // `judged`: the judged memory of the target.
    void update(Seconds now, const TargetSnapshot& target, Bytes judged);
    // The process that grew most, of a role or of all. None if no process grew by 1 MiB and by a fifth of the rise of
    // the role or target: some process always grows most, and it need not be the cause.
    std::optional<Grower> most_grown(std::span<const Process> processes, const std::optional<RoleKey>& role) const;

  private:
    struct Reading {
        Seconds at{};
        Bytes own{};
        Bytes target{};  // judged memory of the target
        Bytes role{};    // own memory of its role
    };
    struct Past {
        Reading before;
        Reading since;
        Reading latest;
    };
    Seconds window_;
    Seconds last_{-1e9};
    std::map<ProcessId, Past> past_{};
};

}  // namespace memscope
