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
    Bytes held{};     // unreclaimable and swapped-out memory, which verdicts judge
    Bytes usage{};    // reclaimable memory included
};

// The last half hour of a target, for death reports. It keeps the last 60 points as they were sampled, and earlier ones
// in bins with the highest point of each, because peaks cause OOM kills. At most 301 points.
class HeldHistory {
  public:
    static constexpr std::size_t kFine = 60;
    static constexpr std::size_t kBins = 240;
    static constexpr double kSpan = 1800;  // seconds
    static constexpr double kBinWidth = kSpan / kBins;

    // A time before the last one (the clock was set) starts a new history.
    void add(const HeldPoint& point);
    std::vector<HeldPoint> points() const;  // oldest first

  private:
    void to_bins(const HeldPoint& point);

    std::deque<HeldPoint> fine_{};
    std::deque<HeldPoint> bins_{};  // the highest point of each bin
};

// An event before a death that the report mentions. `kind` is one word: verdict, warm-up, leak, precursor, failure,
// death.
struct PastEvent {
    double time = 0;  // seconds since 1970
    std::string kind{};
    std::string text{};  // one line, printable
};

// Everything that was known when processes of a target died at the same time. Every list is bounded, and omitted
// entries are counted.
struct DeathReport {
    std::vector<Death> deaths{};  // never empty; the most important one first
    std::uint64_t deaths_left_out = 0;
    std::uint64_t unreported = 0;  // earlier deaths without a report, because there were too many

    // The host and, as the only target, the target of the dead processes, at the last tick at which they were alive.
    Snapshot then{};
    std::uint64_t processes_left_out = 0;  // the smallest processes
    Bytes left_out_resident{};             // RSS of these processes, so that shared pages count several times

    std::optional<Growth> growth{};     // the largest sites; none: growth is not followed, or was not read yet
    std::vector<HeldPoint> series{};    // of the last half hour, oldest first
    std::vector<PastEvent> events{};    // oldest first
    std::vector<std::string> advice{};  // recommendations, the most useful first

    const Death& decisive() const { return deaths.front(); }
    const TargetSnapshot& target() const { return then.targets.front(); }
    const HostMemory& host() const { return then.host; }
};

}  // namespace memscope
