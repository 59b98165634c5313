#include "view/history.h"

#include <algorithm>
#include <set>

namespace memscope::view {
namespace {

std::uint64_t all(const Faults& faults) { return faults.minor + faults.major; }

}  // namespace

void History::add(const Snapshot& snapshot) {
    ++round_;
    std::set<std::string> present;
    for (const TargetSnapshot& target : snapshot.targets) present.insert(target.info.name);
    std::erase_if(targets_, [&](const auto& entry) { return !present.contains(entry.first); });
    for (const TargetSnapshot& target : snapshot.targets) {
        add_processes(snapshot.time, target);
        auto found = targets_.find(target.info.name);
        if (found == targets_.end()) {
            if (targets_.size() >= kTargets) continue;
            found = targets_.emplace(target.info.name, TargetTrack{.first = snapshot.time}).first;
        }
        add_target(found->second, snapshot.time, target);
    }
    std::erase_if(processes_, [&](const auto& entry) { return entry.second.seen != round_; });
}

void History::add_target(TargetTrack& track, double time, const TargetSnapshot& target) {
    if (track.tick > 0 && time == track.last) return;                  // the same tick again: only `up` differs
    if (track.tick > 0 && time < track.last) track = {.first = time};  // the clock was set back
    track.last = time;
    ++track.tick;
    for (const auto& [role, totals] : target.roles)
        if (track.roles.size() < kRoles) track.roles.try_emplace(role);
    for (auto& [role, kept] : track.roles) {
        const auto totals = target.roles.find(role);
        const auto counters = target.counters.find(role);
        const Bytes own = totals == target.roles.end() ? Bytes{} : totals->second.own_anon();
        if (kept.own.size() == kTicks) kept.own.erase(kept.own.begin());
        kept.own.push_back(own.n);
        kept.recent.add(time, own, counters == target.counters.end() ? 0 : all(counters->second.faults));
    }
    // A role without processes keeps its line while there is something to see on it.
    std::erase_if(track.roles, [&](const auto& entry) {
        return !target.roles.contains(entry.first) &&
               std::ranges::all_of(entry.second.own, [](auto n) { return n == 0; });
    });
}

void History::add_processes(double time, const TargetSnapshot& target) {
    for (const Process& process : target.processes) {
        if (!process.task.memory) continue;
        auto found = processes_.find(process.task.id);
        if (found == processes_.end()) {
            if (processes_.size() >= kProcesses) continue;
            found = processes_.emplace(process.task.id, ProcessTrack{}).first;
        }
        found->second.seen = round_;
        found->second.recent.add(time, process.own_anon(), all(process.task.faults));
    }
}

const History::RoleTrack* History::find(const std::string& target, const RoleKey& role) const {
    const auto track = targets_.find(target);
    if (track == targets_.end()) return nullptr;
    const auto found = track->second.roles.find(role);
    return found == track->second.roles.end() ? nullptr : &found->second;
}

Rates History::rates(const std::string& target, const RoleKey& role) const {
    const RoleTrack* track = find(target, role);
    return track ? track->recent.rates() : Rates{};
}

Rates History::rates(const ProcessId& process) const {
    const auto found = processes_.find(process);
    return found == processes_.end() ? Rates{} : found->second.recent.rates();
}

Series History::own(const std::string& target, const RoleKey& role) const {
    const RoleTrack* track = find(target, role);
    return track ? Series{track->own, targets_.at(target).tick} : Series{};
}

Seconds History::watched(const std::string& target) const {
    const auto found = targets_.find(target);
    return found == targets_.end() ? Seconds{} : Seconds{found->second.last - found->second.first};
}

}  // namespace memscope::view
