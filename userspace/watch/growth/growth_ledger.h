#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kernel/features/growth_stacks.h"
#include "watch/growth/call_sites.h"
#include "watch/growth/growth_history.h"

namespace memscope {

// The last state of a process that has ended.
struct EndedGrowth {
    Seconds at{};                        // boot clock
    std::vector<SiteGrowth> resident{};  // without roles
    std::vector<SiteGrowth> mapped{};
    std::vector<SiteGrowth> tensors_host{};
    std::int64_t unknown_resident = 0;  // at stacks without names
    std::int64_t start_bytes = 0;
    std::optional<std::uint64_t> checked_ns{};  // see ResidentRecorder

    std::int64_t at_stacks() const;  // the bytes of all lists
};

// The last states of processes that have ended. If there is no room for all, the states of the processes that held most
// stay, because many short processes that held little must not displace the process that a death report is about.
class EndedProcesses {
  public:
    static constexpr std::size_t kMost = 256;

    void keep(const ProcessId& process, EndedGrowth growth);
    void forget_before(Seconds time);
    const EndedGrowth* find(const ProcessId& process) const;
    const std::map<ProcessId, EndedGrowth>& all() const { return kept_; }

  private:
    std::map<ProcessId, EndedGrowth> kept_{};
    std::set<std::pair<std::int64_t, ProcessId>> by_size_{};
};

// What is known of growth between two ticks. The thread of the ticks changes it, threads that answer requests read it.
struct GrowthLedger {
    explicit GrowthLedger(CallSites::Limits limits) : sites(limits) {}

    std::mutex mutex{};  // guards the members below
    CallSites sites;
    std::map<pid_t, FollowedSpace> spaces{};  // of running processes at the last tick
    EndedProcesses ended{};
    bool was_paused = false;  // the hook was detached for some time
    GrowthHistories histories{};
};

}  // namespace memscope
