#pragma once
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/processes/nesting.h"
#include "model/processes/process_table.h"
#include "model/processes/role_ledger.h"

// A process table with the ledgers of targets, and events of their processes.
namespace memscope::test {

constexpr CgroupId kJob{10};
constexpr CgroupId kInner{11};
constexpr CgroupId kOther{20};
constexpr std::uint64_t kSince = 1000;
constexpr ProcessId kTrainer{100, 500};  // existed before watching began
constexpr RoleKey kRole{Role::trainer, {}};

inline ScannedTask sample(ProcessId id, std::uint64_t time, Faults faults = {}, CgroupId target = kJob) {
    return {.task = {.time_ns = time,
                     .id = id,
                     .parent = 1,
                     .target = target,
                     .comm = "python3",
                     .memory = AddressSpace{},
                     .threads = 1,
                     .faults = faults}};
}
inline Forked fork_of(ProcessId id, std::uint64_t time, pid_t parent = kTrainer.pid, CgroupId target = kJob) {
    return {.time_ns = time, .id = id, .parent = parent, .target = target, .comm = "python3"};
}
inline Exited exit_of(ProcessId id, std::uint64_t time, Faults faults = {}) {
    return {.time_ns = time, .id = id, .target = kJob, .comm = "python3", .faults = faults};
}

// A table with the ledgers of its targets, as a tick uses them.
struct Watch {
    ProcessTable table{kSince};
    std::map<CgroupId, RoleLedger> ledgers;
    Nesting nesting;

    Watch() { nesting.add(kJob, kNoCgroup); }
    void count(const TrackedProcess& process, const RoleKey& role) {
        count_process(process, role, [this](CgroupId innermost) {
            std::vector<RoleLedger*> around;
            for (const CgroupId id : nesting.around(innermost)) around.push_back(&ledgers[id]);
            return around;
        });
    }
    void tick() {
        for (const auto& process : table.ended()) count(process, kRole);
        table.forget_ended();
        for (auto& [pid, process] : table.living()) {
            if (!process.has_news()) continue;
            count(process, kRole);
            process.settle();
        }
    }
    RoleCounters counters(CgroupId target = kJob) const {
        const auto ledger = ledgers.find(target);
        if (ledger == ledgers.end()) return {};
        const auto& all = ledger->second.all();
        return all.contains(kRole) ? all.at(kRole) : RoleCounters{};
    }
    std::size_t living(CgroupId target = kJob) {
        std::size_t n = 0;
        for (const auto& [pid, process] : table.living())
            for (const CgroupId around : nesting.around(process.task.target)) n += around == target;
        return n;
    }
    void expect_balance(CgroupId target = kJob) {
        EXPECT_EQ(counters(target).starts - counters(target).exits, living(target));
    }
};

}  // namespace memscope::test
