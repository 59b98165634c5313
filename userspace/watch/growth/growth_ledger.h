#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
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
};

// What is known of growth between two ticks. The thread of the ticks changes it, threads that answer requests read it.
struct GrowthLedger {
    explicit GrowthLedger(CallSites::Limits limits) : sites(limits) {}

    std::mutex mutex{};  // guards the members below
    CallSites sites;
    std::map<pid_t, FollowedSpace> spaces{};  // of running processes at the last tick
    std::map<ProcessId, EndedGrowth> ended{};
    bool was_paused = false;  // the hook was detached for some time
    GrowthHistories histories{};
};

}  // namespace memscope
