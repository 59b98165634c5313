#include "watch/recent_snapshots.h"

#include <algorithm>
#include <bit>
#include <utility>

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
}

}  // namespace memscope
