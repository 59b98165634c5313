#include "analysis/heap/suspect.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"

namespace memscope {
namespace {

constexpr Seconds kTimeOfGain{30};
constexpr std::uint64_t kLooksWithGain = 5;  // at which it has gained
constexpr double kLongestPause = 1.0 / 3;    // between two gains, as a share of the whole time
constexpr Seconds kUsualPause{15};           // two looks may see no gain of a container that gains slowly
constexpr Seconds kFresh{90};                // since the last look
constexpr double kShareOfGrowth = 0.1;       // of the growth of the scope
constexpr double kRealBytes = 1 << 20;

// It has gained at regular times, and has not stopped. While a long census keeps the helper busy there are no looks: a
// container that is not read has not stopped.
bool gains_steadily(const GrowingContainer& gain, double now) {
    const Seconds time{gain.gained_at - gain.since};
    return time >= kTimeOfGain && gain.looks >= kLooksWithGain &&
           gain.longest_pause <= std::max(kLongestPause * time, kUsualPause) &&
           Seconds{gain.read_at - gain.gained_at} <= std::max(2 * gain.longest_pause, kUsualPause) &&
           Seconds{now - gain.read_at} <= kFresh;
}

// Growth of a series since a time, or since its beginning if that is later.
double grown_since(const Series& series, Seconds since) {
    if (series.count() == 0) return 0;
    const double at = std::max((since - series.began()).count(), 0.0);
    const std::vector<Bin> bins = series.bins(at);
    return bins.empty() ? 0 : static_cast<double>(series.latest().n) - bins.front().low;
}

std::string rate_text(double per_second) {
    return per_second >= 10 ? grouped(static_cast<std::uint64_t>(std::lround(per_second)))
                            : fmt::format("{:.1f}", per_second);
}

}  // namespace

bool is_too_early(Verdict verdict) { return verdict == Verdict::insufficient || verdict == Verdict::warming_up; }

std::optional<Suspect> suspected_holder(const TargetSnapshot& target, const ScopeVerdict& verdict, const Series& grown,
                                        Seconds to_wall, double now, HolderMemory memory) {
    if (!is_too_early(verdict.judgement.verdict) || verdict.cause) return std::nullopt;
    std::optional<Suspect> most;
    for (const ProcessHeap& heap : target.heap) {
        if (verdict.role && heap.role != *verdict.role) continue;
        if (!heap.growing) continue;
        // Processes that do the same work and are not read themselves. The scope of a role has no other ranks.
        const bool has_mates = heap.held && (!verdict.role || heap.role.role == Role::dataloader_worker);
        const double mates = 1 + (has_mates ? static_cast<double>(heap.held->alike) : 0);
        for (const GrowingHolder& each : *heap.growing) {
            if (!gains_steadily(each.gain, now)) continue;
            const double per_item = memory == HolderMemory::host ? each.host_per_item : each.device_per_item;
            const double gained = mates * per_item * static_cast<double>(each.gain.gained);
            const double scope = grown_since(grown, Seconds{each.gain.since} - to_wall);
            if (gained < kRealBytes || scope <= 0 || gained < kShareOfGrowth * scope) continue;
            const double per_second = per_item * each.gain.per_second;
            if (most && most->bytes_per_second >= per_second) continue;
            const Seconds time{std::max(now - each.gain.since, 0.0)};
            most =
                Suspect{.kind = Suspect::Kind::holder,
                        .name = each.holder.path,
                        .bytes_per_second = per_second,
                        .share = std::min(gained / scope, 1.0),
                        .since = each.gain.since,
                        .text = fmt::format(
                            "Suspected leak: `{}` ({}) grows by {} objects a second and {}/s{}; it "
                            "has given nothing back for {}.",
                            printable(each.holder.path), printable(each.holder.type), rate_text(each.gain.per_second),
                            human_size(Bytes{static_cast<std::uint64_t>(per_second)}),
                            memory == HolderMemory::device ? " of GPU memory" : "", human_duration(time))};
        }
    }
    return most;
}

}  // namespace memscope
