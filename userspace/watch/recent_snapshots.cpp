#include "watch/recent_snapshots.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

namespace memscope {
namespace {

constexpr double kOldest = 60;  // seconds: what a process of a hundred gigabytes may need to be gone
constexpr double kSlot = 0.5;   // of those that are nearer to each other only the first is kept
constexpr std::uint64_t kLives = 4;

// Every second slot lives shortest, every second of the others twice as long, and so on: at any age there is one that
// is not much older than that.
bool lives_on(std::uint64_t slot, std::uint64_t now) { return now - slot <= kLives << std::countr_zero(slot); }

}  // namespace

void RecentSnapshots::add(SnapshotPtr snapshot) {
    const double now = snapshot->time;
    if (!snapshots_.empty() && now < snapshots_.back()->time) *this = {};  // somebody has set the clock
    if (slots_.empty() || now - slot_began_ >= kSlot) {
        ++slot_;
        slot_began_ = now;
    }
    snapshots_.push_back(std::move(snapshot));
    slots_.push_back(slot_);
    std::deque<SnapshotPtr> kept;
    std::deque<std::uint64_t> kept_slots;
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < snapshots_.size(); ++i) {
        const bool first = std::exchange(before, slots_[i]) != slots_[i];
        const bool newest = i + 2 >= snapshots_.size();
        if (!newest && !(first && lives_on(slots_[i], slot_) && now - snapshots_[i]->time <= kOldest)) continue;
        kept.push_back(std::move(snapshots_[i]));
        kept_slots.push_back(slots_[i]);
    }
    snapshots_ = std::move(kept);
    slots_ = std::move(kept_slots);
    drop_by_size();
}

// Drops the one whose neighbours are nearest to each other for its age, until the rest is small enough.
void RecentSnapshots::drop_by_size() {
    const std::size_t always = std::min<std::size_t>(snapshots_.size(), 2);
    std::vector<Bytes> sizes;
    Bytes sum;
    for (std::size_t i = 0; i + always < snapshots_.size(); ++i)
        sum += sizes.emplace_back(approximate_size(*snapshots_[i]));
    const double now = snapshots_.back()->time;
    while (sum > kMostBytes) {
        std::size_t drop = 0;  // the oldest, if it is the only one
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 1; i < sizes.size(); ++i) {
            const double gap = snapshots_[i + 1]->time - snapshots_[i - 1]->time;
            const double relative = gap / std::max(now - snapshots_[i]->time, kSlot);
            if (relative >= least) continue;
            least = relative;
            drop = i;
        }
        const auto offset = static_cast<std::ptrdiff_t>(drop);
        sum = sum - sizes[drop];
        sizes.erase(sizes.begin() + offset);
        snapshots_.erase(snapshots_.begin() + offset);
        slots_.erase(slots_.begin() + offset);
    }
}

Bytes approximate_size(const Snapshot& snapshot) {
    constexpr std::size_t kNode = 48;  // of a map or of an allocation: pointers and the allocator's header
    std::size_t sum = sizeof(Snapshot);
    for (const TargetSnapshot& target : snapshot.targets) {
        sum += sizeof(TargetSnapshot) + target.processes.capacity() * sizeof(Process) +
               target.memory.candidates.capacity() * sizeof(LimitCandidate) +
               target.roles.size() * (sizeof(RoleKey) + sizeof(RoleTotals) + kNode) +
               target.counters.size() * (sizeof(RoleKey) + sizeof(RoleCounters) + kNode);
        for (const ScopeVerdict& verdict : target.verdicts)
            sum += sizeof(ScopeVerdict) + verdict.explanation.capacity() + kNode;
    }
    return Bytes{sum};
}

}  // namespace memscope
