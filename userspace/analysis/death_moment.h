#pragma once
#include <deque>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// Deaths that are one event: of one target, in one tick, news among them.
struct DeathMoment {
    std::string target{};
    std::vector<Death> deaths{};  // the decisive one first
};

// A death stands in every target around the process: here it counts for the innermost alone. Teardown comes along where
// it belongs to news, and is no event of its own.
std::vector<DeathMoment> death_moments(const Snapshot& now);

// The newest of these (oldest first) in which the process still held what it died with: one that was killed goes on
// dying for a while, and gives its memory back meanwhile. Failing that the newest that has the target; null: none has.
const Snapshot* last_alive(const std::deque<SnapshotPtr>& recent, const std::string& target, const Death& death);

const TargetSnapshot* find_target(const Snapshot& snapshot, const std::string& name);

}  // namespace memscope
