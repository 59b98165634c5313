#include "model/ledger.h"

#include <algorithm>

namespace memscope {
namespace {

// Far above any real job on one machine; a process can put any RANK into its environment.
constexpr std::size_t kMostSeries = 2048;

bool contains(const std::vector<CgroupId>& targets, CgroupId target) {
    return std::find(targets.begin(), targets.end(), target) != targets.end();
}

}  // namespace

RoleCounters& Ledger::entry(CgroupId target, RoleKey role) {
    auto& counters = counters_[target];
    if (role.rank && counters.size() >= kMostSeries && !counters.contains(role)) {
        ++folded_ranks_;
        role.rank.reset();
    }
    return counters[role];
}

void Ledger::book(const TrackedProcess& process, RoleKey role, const Nesting& nesting) {
    for (const Crossing& crossing : process.crossings) {
        const auto left = nesting.around(crossing.from);
        const auto entered = nesting.around(crossing.to);
        for (const CgroupId target : entered)
            if (!contains(left, target)) ++entry(target, role).starts;
        for (const CgroupId target : left)
            if (!contains(entered, target)) ++entry(target, role).exits;
    }
    const Faults faults = process.faults_to_book();
    for (const CgroupId target : nesting.around(process.last_target())) {
        RoleCounters& counters = entry(target, role);
        counters.faults.minor += faults.minor;
        counters.faults.major += faults.major;
    }
}

const std::map<RoleKey, RoleCounters>& Ledger::of(CgroupId target) const {
    static const std::map<RoleKey, RoleCounters> kNone;
    const auto found = counters_.find(target);
    return found == counters_.end() ? kNone : found->second;
}

}  // namespace memscope
