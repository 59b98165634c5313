#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/growth/growth.h"
#include "model/snapshot.h"

namespace memscope {

struct HeldPoint {
    double time = 0;  // seconds since 1970
    Bytes held{};     // what is judged: unreclaimable, and swapped out
    Bytes usage{};    // with what could be reclaimed
};

// The last half hour of a target for whoever asks later what came before: the last minute as it was sampled, the time
// before in bins that keep the highest, since it is a peak that kills. At most 301 points.
class HeldHistory {
  public:
    static constexpr std::size_t kFine = 60;
    static constexpr std::size_t kBins = 240;
    static constexpr double kSpan = 1800;  // seconds
    static constexpr double kBinWidth = kSpan / kBins;

    // Times that run back (somebody set the clock) begin a new history.
    void add(const HeldPoint& point);
    std::vector<HeldPoint> points() const;  // oldest first

  private:
    void to_bins(const HeldPoint& point);

    std::deque<HeldPoint> fine_{};
    std::deque<HeldPoint> bins_{};  // each the highest point of its bin
};

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
