#pragma once
#include <map>
#include <string>

#include "model/snapshot.h"
#include "view/recent.h"
#include "view/sparkline.h"

namespace memscope::view {

// What the view remembers of past ticks: the own memory of each role for its sparkline, a few points of each process
// for its rate. Bounded, whatever is watched; what is beyond a bound has no sparkline or no rate, and all else is
// shown.
class History {
  public:
    static constexpr std::size_t kTicks = 120;
    static constexpr std::size_t kTargets = 256;
    static constexpr std::size_t kRoles = 64;  // of a target
    static constexpr std::size_t kProcesses = 4096;

    void add(const Snapshot& snapshot);

    Rates rates(const std::string& target, const RoleKey& role) const;
    Rates rates(const ProcessId& process) const;
    Series own(const std::string& target, const RoleKey& role) const;
    Seconds watched(const std::string& target) const;

  private:
    struct RoleTrack {
        std::vector<std::uint64_t> own{};  // the last ticks, newest last
        Recent recent{};
    };
    struct TargetTrack {
        double first = 0;  // time
        double last = 0;
        std::uint64_t tick = 0;
        std::map<RoleKey, RoleTrack> roles{};
    };
    struct ProcessTrack {
        Recent recent{};
        std::uint64_t seen = 0;  // round_
    };

    static void add_target(TargetTrack& track, double time, const TargetSnapshot& target);
    void add_processes(double time, const TargetSnapshot& target);
    const RoleTrack* find(const std::string& target, const RoleKey& role) const;

    std::uint64_t round_ = 0;
    std::map<std::string, TargetTrack> targets_{};
    std::map<ProcessId, ProcessTrack> processes_{};
};

}  // namespace memscope::view
