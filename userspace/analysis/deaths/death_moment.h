#pragma once
#include <deque>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// Deaths of one target in one tick, which are reported as one event.
struct DeathMoment {
    std::string target{};
    std::vector<Death> deaths{};  // never empty; the decisive one first

    bool is_news() const { return deaths.front().news; }  // false: the deaths are the teardown after an earlier event
};

// A death is listed in every target that contains the process. Here it counts for the innermost target only.
std::vector<DeathMoment> death_moments(const Snapshot& now);

// The newest of these snapshots (oldest first) in which the process still held at least 90 % of the memory that it died
// with. Later snapshots can show less, because a killed process frees its memory for a while before it is gone. If
// there is no such snapshot: the newest snapshot with the target. Null: the target is in none.
const Snapshot* last_alive(const std::deque<SnapshotPtr>& recent, const std::string& target, const Death& death);

// True if `later` continues the event of `decisive`, which was already reported: a process of the same target died
// within 2 s after it, and its cause is no worse. A teardown within that time always continues the event.
bool belongs_to(const DeathMoment& later, const Death& decisive);

}  // namespace memscope
