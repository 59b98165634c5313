#pragma once
#include <deque>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// Deaths that are one event: of one target, in one tick.
struct DeathMoment {
    std::string target{};
    std::vector<Death> deaths{};  // never empty; the decisive one first

    bool is_news() const { return deaths.front().news; }  // else it is teardown, of whatever came before
};

// A death stands in every target around the process: here it counts for the innermost alone.
std::vector<DeathMoment> death_moments(const Snapshot& now);

// The newest of these (oldest first) in which the process still held what it died with: one that was killed goes on
// dying for a while, and gives its memory back meanwhile. Failing that the newest that has the target; null: none has.
const Snapshot* last_alive(const std::deque<SnapshotPtr>& recent, const std::string& target, const Death& death);

// Whether a moment goes on with another that has been told: somebody of the same target who died soon after, of nothing
// worse. Teardown always does.
bool belongs_to(const DeathMoment& later, const Death& decisive);

}  // namespace memscope
