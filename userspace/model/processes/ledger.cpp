#include "model/processes/ledger.h"

#include <algorithm>

namespace memscope {
namespace {

bool contains(const std::vector<CgroupId>& targets, CgroupId target) {
    return std::find(targets.begin(), targets.end(), target) != targets.end();
}

}  // namespace

void Ledger::fold_rank(CgroupId target, const RoleKey& role) {
    const auto found = counters_.find(target);
    if (found == counters_.end() || !role.rank) return;
    const auto folded = found->second.extract(role);
    if (!folded.empty()) found->second[{role.role, std::nullopt}] += folded.mapped();
}

Mappings& Ledger::mappings_entry(CgroupId target, const RoleKey& role) {
    auto& mappings = entry(target, role).mappings;
    if (!mappings) mappings.emplace();
    return *mappings;
}

void Ledger::book(const TrackedProcess& process, RoleKey role, const Nesting& nesting) {
    book_crossings(process, role, nesting);
    const Faults faults = process.faults_to_book();
    for (const CgroupId target : nesting.around(process.last_target())) {
        RoleCounters& counters = entry(target, role);
        counters.faults.minor += faults.minor;
        counters.faults.major += faults.major;
    }
    if (process.mappings) book_mappings(process, role, nesting);
}

void Ledger::book_crossings(const TrackedProcess& process, RoleKey role, const Nesting& nesting) {
    for (const Crossing& crossing : process.crossings) {
        const auto left = nesting.around(crossing.from);
        const auto entered = nesting.around(crossing.to);
        for (const CgroupId target : entered)
            if (!contains(left, target)) ++entry(target, role).starts;
        for (const CgroupId target : left)
            if (!contains(entered, target)) ++entry(target, role).exits;
    }
}

// In every target, mapped minus unmapped is the current mapped size of its processes. So a process that moves into a
// target adds its whole size, a process that leaves subtracts it, and a process whose exit event was lost is subtracted
// as well.
void Ledger::book_mappings(const TrackedProcess& process, RoleKey role, const Nesting& nesting) {
    const auto before = nesting.around(process.settled_target);
    const auto now = nesting.around(process.last_target());
    const Mappings rise = *process.mappings - process.mappings_booked;
    const Mappings arrival = process.mappings->summed();
    const Mappings departure = process.mappings_booked.summed().reversed();
    const Mappings rest = process.ended ? arrival.reversed() : Mappings{};

    for (const CgroupId target : now) {
        Mappings& booked = mappings_entry(target, role);
        booked += !process.settled || contains(before, target) ? rise : arrival;
        booked += rest;
    }
    for (const CgroupId target : before)
        if (!contains(now, target)) mappings_entry(target, role) += departure;
}

const std::map<RoleKey, RoleCounters>& Ledger::of(CgroupId target) const {
    static const std::map<RoleKey, RoleCounters> kNone;
    const auto found = counters_.find(target);
    return found == counters_.end() ? kNone : found->second;
}

}  // namespace memscope
