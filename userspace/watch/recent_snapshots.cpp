#include "watch/recent_snapshots.h"

#include <algorithm>
#include <bit>
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

// Those with the shortest lives go first, so that what is left still reaches back.
void RecentSnapshots::drop_by_size() {
    std::vector<Bytes> sizes;
    Bytes sum;
    for (std::size_t i = 0; i + 2 < snapshots_.size(); ++i) sum += sizes.emplace_back(approximate_size(*snapshots_[i]));
    while (sum > kMostBytes) {
        const auto end = slots_.begin() + static_cast<std::ptrdiff_t>(sizes.size());
        const auto drop = std::min_element(slots_.begin(), end,
                                           [](std::uint64_t a, std::uint64_t b) {
                                               return std::countr_zero(a) < std::countr_zero(b);
                                           }) -
                          slots_.begin();
        sum = sum - sizes[static_cast<std::size_t>(drop)];
        sizes.erase(sizes.begin() + drop);
        snapshots_.erase(snapshots_.begin() + drop);
        slots_.erase(slots_.begin() + drop);
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
