#include "analysis/roles/rank_places.h"

#include <algorithm>

namespace memscope {

// Marks the place of the pair as used. False if the pair has no place.
bool RankPlaces::use(Target& target, const Subject& subject, Seconds now) {
    const auto held = target.places.find(subject.wanted);
    if (held == target.places.end()) return false;
    held->second.used = now;
    held->second.in_use = held->second.in_use || !subject.ended;
    return true;
}

// Keeps the place of the pair, or takes a free one, or takes that of the pair that has been without processes for
// longest.
bool RankPlaces::has_place(Target& target, const Subject& subject, Seconds now) {
    if (use(target, subject, now)) return true;
    if (target.crowded) return false;  // no place becomes free before the next assign()
    if (target.places.size() >= kMost) {
        const auto longest_unused = std::ranges::min_element(
            target.places, {}, [](const auto& place) { return std::pair(place.second.in_use, place.second.used); });
        if (longest_unused->second.in_use || now - longest_unused->second.used < keep_) return false;
        vacated_.emplace_back(subject.outermost, longest_unused->first);
        target.places.erase(longest_unused);
    }
    target.places.emplace(subject.wanted, Place{now, !subject.ended});
    return true;
}

std::vector<RoleKey> RankPlaces::assign(std::span<const Subject> subjects, Seconds now) {
    for (auto& [id, target] : targets_) {
        target.crowded = false;
        for (auto& [key, place] : target.places) place.in_use = false;
    }
    // Pairs with a place come first, because a new pair must not take the place of a pair that has processes.
    for (const Subject& subject : subjects)
        if (subject.wanted.rank) (void)use(targets_[subject.outermost], subject, now);
    std::vector<RoleKey> keys;
    keys.reserve(subjects.size());
    for (const Subject& subject : subjects) {
        RoleKey key = subject.wanted;
        if (key.rank) {
            Target& target = targets_[subject.outermost];
            if (!has_place(target, subject, now)) {
                target.crowded = true;
                key.rank.reset();
            }
        }
        keys.push_back(key);
    }
    return keys;
}

bool RankPlaces::is_due(Seconds now) const {
    return std::ranges::any_of(targets_, [&](const auto& target) {
        return target.second.crowded && std::ranges::any_of(target.second.places, [&](const auto& place) {
                   return !place.second.in_use && now - place.second.used >= keep_;
               });
    });
}

}  // namespace memscope
