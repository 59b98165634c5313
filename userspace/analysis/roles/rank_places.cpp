#include "analysis/roles/rank_places.h"

#include <algorithm>

namespace memscope {

// Marks the place of the subject's pair as used. False if the pair has no place.
bool RankPlaces::use(const Subject& subject, Seconds now) {
    const auto held = places_.find(subject.wanted);
    if (held == places_.end()) return false;
    held->second.used = now;
    held->second.in_use = held->second.in_use || !subject.ended;
    return true;
}

// True if the subject's pair has a place now: its own place, a free place, or the place of the pair that was without
// processes for longest.
bool RankPlaces::take_place(const Subject& subject, Seconds now) {
    if (use(subject, now)) return true;
    if (crowded_) return false;  // no place becomes free before the next assign()
    if (places_.size() >= kMost) {
        const auto longest_unused = std::ranges::min_element(
            places_, {}, [](const auto& place) { return std::pair(place.second.in_use, place.second.used); });
        if (longest_unused->second.in_use || now - longest_unused->second.used < keep_) return false;
        vacated_.push_back(longest_unused->first);
        places_.erase(longest_unused);
    }
    places_.emplace(subject.wanted, Place{now, !subject.ended});
    return true;
}

std::vector<RoleKey> RankPlaces::assign(std::span<const Subject> subjects, Seconds now) {
    crowded_ = false;
    for (auto& [key, place] : places_) place.in_use = false;
    // Pairs that have places come first, because a new pair must not take the place of a pair that has processes.
    for (const Subject& subject : subjects)
        if (subject.wanted.rank) (void)use(subject, now);
    std::vector<RoleKey> keys;
    keys.reserve(subjects.size());
    for (const Subject& subject : subjects) {
        RoleKey key = subject.wanted;
        if (key.rank && !take_place(subject, now)) {
            crowded_ = true;
            key.rank.reset();
        }
        keys.push_back(key);
    }
    return keys;
}

bool RankPlaces::is_due(Seconds now) const {
    return crowded_ && std::ranges::any_of(places_, [&](const auto& place) {
               return !place.second.in_use && now - place.second.used >= keep_;
           });
}

}  // namespace memscope
