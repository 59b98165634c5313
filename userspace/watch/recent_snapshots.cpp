#include "watch/recent_snapshots.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr double kOldest = 60;  // seconds: what a process of a hundred gigabytes may need to be gone
constexpr double kApart = 0.5;  // of its age

}  // namespace

void RecentSnapshots::add(SnapshotPtr snapshot) {
    const double now = snapshot->time;
    snapshots_.push_back(std::move(snapshot));
    std::deque<SnapshotPtr> kept{snapshots_.back()};
    for (std::size_t i = snapshots_.size() - 1; i-- > 0;) {
        const double age = now - snapshots_[i]->time;
        if (age < 0 || age > kOldest) break;  // too old, or of before somebody set the clock
        const bool just_before = kept.size() == 1;
        if (just_before || kept.front()->time - snapshots_[i]->time >= kApart * (now - kept.front()->time))
            kept.push_front(snapshots_[i]);
    }
    snapshots_ = std::move(kept);
}

}  // namespace memscope
