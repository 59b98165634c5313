#include "watch/heap/container_watch.h"

#include <algorithm>
#include <utility>

namespace memscope {
namespace {

constexpr Bytes kGrows{512 << 10};  // since the last look

const TrackedProcess* find_followed(const ProcessTable::Living& living, const ProcessId& process) {
    const auto found = living.find(process.pid);
    return found != living.end() && found->second.task.id == process ? &found->second : nullptr;
}

Bytes own_size(const TrackedProcess& process) { return process.task.memory ? process.task.memory->anon : Bytes{}; }

}  // namespace

void ContainerWatch::add(const HeapCensus& census) {
    if (!census.places || census.places->empty()) return;
    Followed& followed = followed_[census.process];
    followed.curves.begin(census.time, *census.places);
    followed.census = census.time;
    followed.looked.reset();
    while (containers() > kMostContainers && followed_.size() > 1)
        followed_.erase(std::ranges::min_element(followed_, {}, [](const auto& each) { return each.second.census; }));
}

std::size_t ContainerWatch::containers() const {
    std::size_t sum = 0;
    for (const auto& [id, followed] : followed_) sum += followed.curves.size();
    return sum;
}

const ContainerCurves* ContainerWatch::find(const ProcessId& process) const {
    const auto found = followed_.find(process);
    return found == followed_.end() ? nullptr : &found->second.curves;
}

bool ContainerWatch::is_due(Seconds now, const Followed& followed, const TrackedProcess& process) const {
    if (!followed.looked) return true;
    const bool grows = followed.curves.gains() || !followed.anon || own_size(process) >= *followed.anon + kGrows;
    return now - *followed.looked >= std::max(grows ? kWhileGrowing : kOtherwise, followed.cost / kMostShare);
}

bool ContainerWatch::begin_next(Seconds now, const ProcessTable::Living& living) {
    for (auto& [id, followed] : followed_) {
        const TrackedProcess* process = find_followed(living, id);
        if (!process || !is_due(now, followed, *process)) continue;
        current_ = LengthsJob{.id = id, .number = ++jobs_, .places = followed.curves.next_look()};
        followed.looked = now;
        followed.anon = own_size(*process);
        return true;
    }
    return false;
}

void ContainerWatch::pump(Seconds now, const ProcessTable::Living& living, const Read& read) {
    std::erase_if(followed_, [&](const auto& each) { return !find_followed(living, each.first); });
    while (current_ || begin_next(now, living)) {
        const auto answer = read(*current_);
        if (!answer) return;
        const LengthsJob job = *std::exchange(current_, std::nullopt);
        const auto found = followed_.find(job.id);
        if (found == followed_.end() || !*answer) continue;
        found->second.curves.add((**answer).time, job.places, (**answer).readings);
        found->second.cost = (**answer).cpu;
    }
}

}  // namespace memscope
