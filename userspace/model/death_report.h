#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/growth.h"
#include "model/held_history.h"
#include "model/snapshot.h"

namespace memscope {

// Something worth telling that came before a death. `kind` is one word: verdict, warm-up, leak, precursor, failure,
// death.
struct PastEvent {
    double time = 0;  // seconds since 1970
    std::string kind{};
    std::string text{};  // one line, printable
};

// All that was known when processes of a target died in the same moment. Every list is bounded, and what was left out
// of it is counted.
struct DeathReport {
    std::vector<Death> deaths{};  // never empty; the decisive one first
    std::uint64_t deaths_left_out = 0;
    std::uint64_t unreported = 0;  // deaths before these that made no report, because there were too many

    // The machine and, as its only target, what the dead belonged to, when they were last seen alive.
    Snapshot then{};
    std::uint64_t processes_left_out = 0;  // the smallest
    Bytes left_out_resident{};             // what they held, shared pages counted in each

    std::optional<Growth> growth{};     // the largest sites; none: nobody follows growth, or it was not asked for yet
    std::vector<HeldPoint> series{};    // the last half hour, oldest first
    std::vector<PastEvent> events{};    // oldest first
    std::vector<std::string> advice{};  // what to do, the most useful first

    const Death& decisive() const { return deaths.front(); }
    const TargetSnapshot& target() const { return then.targets.front(); }
    const HostMemory& host() const { return then.host; }
};

}  // namespace memscope
