#include "model/processes/role_ledger.h"

#include <algorithm>

namespace memscope {
namespace {

using Ledgers = std::vector<RoleLedger*>;

bool contains(const Ledgers& ledgers, const RoleLedger* ledger) {
    return std::find(ledgers.begin(), ledgers.end(), ledger) != ledgers.end();
}

void count_crossings(const TrackedProcess& process, const RoleKey& role, const LedgersAround& around) {
    for (const Crossing& crossing : process.crossings) {
        const Ledgers left = around(crossing.from);
        const Ledgers entered = around(crossing.to);
        for (RoleLedger* target : entered)
            if (!contains(left, target)) ++target->at(role).starts;
        for (RoleLedger* target : left)
            if (!contains(entered, target)) ++target->at(role).exits;
    }
}

// In every target, mapped minus unmapped bytes must equal the bytes that its processes have mapped now. So a process
// that comes from another target adds all its mapped bytes, a process that leaves subtracts them, and the mappings of a
// process that has ended are subtracted even if its exit event was lost.
void count_mappings(const TrackedProcess& process, const RoleKey& role, const Ledgers& now,
                    const LedgersAround& around) {
    const Ledgers before = around(process.settled_target);
    const Mappings rise = *process.mappings - process.mappings_counted;
    const Mappings arrival = process.mappings->summed();
    const Mappings departure = process.mappings_counted.summed().reversed();
    const Mappings rest = process.ended ? arrival.reversed() : Mappings{};

    for (RoleLedger* target : now) {
        Mappings& counted = target->mappings_at(role);
        counted += !process.settled || contains(before, target) ? rise : arrival;
        counted += rest;
    }
    for (RoleLedger* target : before)
        if (!contains(now, target)) target->mappings_at(role) += departure;
}

}  // namespace

void RoleLedger::fold_rank(const RoleKey& role) {
    if (!role.rank) return;
    const auto folded = counters_.extract(role);
    if (!folded.empty()) counters_[{role.role, std::nullopt}] += folded.mapped();
}

Mappings& RoleLedger::mappings_at(const RoleKey& role) {
    auto& mappings = at(role).mappings;
    if (!mappings) mappings.emplace();
    return *mappings;
}

void count_process(const TrackedProcess& process, const RoleKey& role, const LedgersAround& around) {
    count_crossings(process, role, around);
    const Faults faults = process.uncounted_faults();
    const Ledgers now = around(process.last_target());
    for (RoleLedger* target : now) {
        RoleCounters& counters = target->at(role);
        counters.faults.minor += faults.minor;
        counters.faults.major += faults.major;
    }
    if (process.mappings) count_mappings(process, role, now, around);
}

}  // namespace memscope
