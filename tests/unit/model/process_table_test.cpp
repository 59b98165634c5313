#include "model/process_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/ledger.h"

namespace memscope {
namespace {

constexpr CgroupId kJob{10};
constexpr CgroupId kInner{11};
constexpr CgroupId kOther{20};
constexpr std::uint64_t kSince = 1000;
constexpr ProcessId kTrainer{100, 500};  // was there before
constexpr RoleKey kRole{Role::trainer, {}};

ScannedTask sample(ProcessId id, std::uint64_t time, Faults faults = {}, CgroupId target = kJob) {
    return {.task = {.time_ns = time,
                     .id = id,
                     .parent = 1,
                     .target = target,
                     .comm = "python3",
                     .memory = AddressSpace{},
                     .threads = 1,
                     .faults = faults}};
}
Forked fork_of(ProcessId id, std::uint64_t time, pid_t parent = kTrainer.pid, CgroupId target = kJob) {
    return {.time_ns = time, .id = id, .parent = parent, .target = target, .comm = "python3"};
}
Exited exit_of(ProcessId id, std::uint64_t time, Faults faults = {}) {
    return {.time_ns = time, .id = id, .target = kJob, .comm = "python3", .faults = faults};
}

// A table with its ledger, as a tick uses them.
struct Watch {
    ProcessTable table{kSince};
    Ledger ledger;
    Nesting nesting;

    Watch() { nesting.add(kJob, kNoCgroup); }
    void tick() {
        for (const auto& process : table.ended()) ledger.book(process, kRole, nesting);
        table.forget_ended();
        for (auto& [pid, process] : table.living()) {
            if (!process.has_news()) continue;
            ledger.book(process, kRole, nesting);
            process.settle();
        }
    }
    RoleCounters counters(CgroupId target = kJob) const {
        const auto& all = ledger.of(target);
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

TEST(ProcessTable, CountsAProcessThatWasThereBeforeAsAStart) {
    Watch w;
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    w.tick();
    EXPECT_EQ(w.counters().starts, 1U);
    w.expect_balance();
}

TEST(ProcessTable, TakesAScanAndItsForkEventForOneStart) {
    const ProcessId child{101, 1500};
    for (const bool scan_first : {true, false}) {
        Watch w;
        if (scan_first) w.table.reconcile(std::vector{sample(child, 2000)}, 1990);
        w.table.apply(fork_of(child, 1500));
        if (!scan_first) w.table.reconcile(std::vector{sample(child, 2000)}, 1990);
        w.tick();
        EXPECT_EQ(w.counters().starts, 1U) << scan_first;
        w.expect_balance();
    }
}

TEST(ProcessTable, CountsAProcessThatLivedBetweenTwoTicks) {
    Watch w;
    const ProcessId child{101, 1500};
    w.table.apply(fork_of(child, 1500));
    w.table.apply(exit_of(child, 1600, {.minor = 70, .major = 1}));
    w.tick();
    EXPECT_EQ(w.counters().starts, 1U);
    EXPECT_EQ(w.counters().exits, 1U);
    EXPECT_EQ(w.counters().faults, (Faults{70, 1}));
    w.expect_balance();
}

TEST(ProcessTable, IgnoresTheSecondExitEventOfTwoLastThreads) {
    Watch w;
    const ProcessId child{101, 1500};
    w.table.apply(fork_of(child, 1500));
    w.table.apply(exit_of(child, 1600));
    w.table.apply(exit_of(child, 1601));
    w.tick();
    EXPECT_EQ(w.counters().exits, 1U);
}

TEST(ProcessTable, DoesNotMixUpTwoProcessesOfOnePid) {
    Watch w;
    w.table.apply(fork_of({101, 1500}, 1500));
    w.table.apply(exit_of({101, 1400}, 1550));  // of a predecessor nobody saw
    EXPECT_EQ(w.table.living().size(), 1U);
    w.table.apply(fork_of({101, 1700}, 1700));  // the exit of 1500 was lost
    w.tick();
    EXPECT_EQ(w.counters().starts, 2U);
    EXPECT_EQ(w.counters().exits, 1U);
    EXPECT_EQ(w.table.missed_exits(), 1U);
    w.expect_balance();
}

TEST(ProcessTable, LeavesAProcessThatIsMissingOnceAndEndsItTheSecondTime) {
    Watch w;
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    w.table.reconcile({}, 3000);
    EXPECT_EQ(w.table.living().size(), 1U);
    w.table.reconcile({}, 4000);
    w.tick();
    EXPECT_EQ(w.table.missed_exits(), 1U);
    EXPECT_EQ(w.counters().exits, 1U);
    w.expect_balance();
}

TEST(ProcessTable, ForgetsThatAProcessWasMissingOnceItIsBack) {
    Watch w;
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    w.table.reconcile({}, 3000);
    w.table.reconcile(std::vector{sample(kTrainer, 4000)}, 3990);
    w.table.reconcile({}, 5000);
    EXPECT_EQ(w.table.living().size(), 1U);
    EXPECT_EQ(w.table.missed_exits(), 0U);
}

TEST(ProcessTable, KeepsAProcessThatWasForkedAfterTheScanBegan) {
    Watch w;
    w.table.apply(fork_of({101, 2100}, 2100));
    w.table.reconcile({}, 2000);
    w.table.reconcile({}, 2050);
    EXPECT_EQ(w.table.living().size(), 1U);
}

TEST(ProcessTable, CountsMovesInAndOutAsStartsAndExits) {
    Watch w;
    w.nesting.add(kOther, kNoCgroup);
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    w.table.apply(Moved{.time_ns = 2100, .id = kTrainer, .target = kOther});
    w.tick();
    EXPECT_EQ(w.counters(kJob).exits, 1U);
    EXPECT_EQ(w.counters(kOther).starts, 1U);
    w.table.apply(Moved{.time_ns = 2200, .id = kTrainer, .target = kNoCgroup});
    w.tick();
    EXPECT_EQ(w.counters(kOther).exits, 1U);
    EXPECT_TRUE(w.table.living().empty());
    w.expect_balance(kJob);
    w.expect_balance(kOther);
}

TEST(ProcessTable, ATargetInsideAnotherCountsInBoth) {
    Watch w;
    w.nesting.add(kInner, kJob);
    w.table.reconcile(std::vector{sample(kTrainer, 2000, {}, kInner)}, 1990);
    w.tick();
    EXPECT_EQ(w.counters(kInner).starts, 1U);
    EXPECT_EQ(w.counters(kJob).starts, 1U);
    w.table.apply(Moved{.time_ns = 2100, .id = kTrainer, .target = kJob});  // out of the inner one only
    w.tick();
    EXPECT_EQ(w.counters(kInner).exits, 1U);
    EXPECT_EQ(w.counters(kJob).exits, 0U);
    w.expect_balance(kInner);
    w.expect_balance(kJob);
}

TEST(ProcessTable, AMoveThatIsOlderThanTheScanChangesNothing) {
    Watch w;
    w.nesting.add(kOther, kNoCgroup);
    w.table.reconcile(std::vector{sample(kTrainer, 2000, {}, kOther)}, 1990);
    w.table.apply(Moved{.time_ns = 1995, .id = kTrainer, .target = kJob});
    EXPECT_EQ(w.table.living().at(kTrainer.pid).task.target, kOther);
}

TEST(ProcessTable, AScanDoesNotBringBackWhoLeftAfterItWasMet) {
    Watch w;
    const ProcessId child{101, 1500};
    w.table.apply(fork_of(child, 1500));
    w.table.apply(exit_of(child, 2005));
    w.table.apply(Moved{.time_ns = 2006, .id = kTrainer, .target = kNoCgroup});  // never seen before
    w.table.reconcile(std::vector{sample(kTrainer, 2000), sample(child, 2001)}, 1990);
    w.tick();
    EXPECT_TRUE(w.table.living().empty());
    EXPECT_EQ(w.counters().starts, 1U);
    EXPECT_EQ(w.counters().exits, 1U);
    w.table.reconcile(std::vector{sample(kTrainer, 3000)}, 2990);  // back, and nobody said so
    w.tick();
    EXPECT_EQ(w.table.living().size(), 1U);
    w.expect_balance();
}

TEST(ProcessTable, CountsEveryMoveBetweenADrainAndAScan) {
    Watch w;
    w.nesting.add(kOther, kNoCgroup);
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    w.tick();
    w.table.apply(Moved{.time_ns = 2100, .id = kTrainer, .target = kOther});
    w.table.apply(Moved{.time_ns = 2200, .id = kTrainer, .target = kJob});
    w.table.apply(Moved{.time_ns = 2400, .id = kTrainer, .target = kOther});
    w.table.reconcile(std::vector{sample(kTrainer, 2300)}, 2290);  // met before the last move
    w.tick();
    EXPECT_EQ(w.counters(kJob).starts, 2U);
    EXPECT_EQ(w.counters(kJob).exits, 2U);
    EXPECT_EQ(w.counters(kOther).starts, 2U);
    EXPECT_EQ(w.table.living().at(kTrainer.pid).task.target, kOther);
}

TEST(ProcessTable, MeetsProcessesInAnyOrderOfTheirPids) {
    Watch w;
    const ProcessId low{7, 1600}, middle{50, 1200}, high{900, 1100};
    w.table.reconcile(std::vector{sample(high, 2000), sample(low, 2001), sample(middle, 2002)}, 1990);
    w.table.reconcile(std::vector{sample(middle, 3000), sample(high, 3001)}, 2990);
    w.table.reconcile(std::vector{sample(high, 4000), sample({50, 3500}, 4001)}, 3990);
    w.tick();
    EXPECT_EQ(w.table.living().size(), 2U);
    EXPECT_TRUE(w.table.living().contains(50));
    EXPECT_EQ(w.table.missed_exits(), 2U) << "one missing twice, one whose pid has another process";
    w.expect_balance();
}

TEST(ProcessTable, TellsWhenRolesMayHaveChanged) {
    Watch w;
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    w.tick();
    auto before = w.table.revision();
    w.table.reconcile(std::vector{sample(kTrainer, 3000, {5, 5})}, 2990);
    EXPECT_EQ(w.table.revision(), before) << "other numbers, the same process";
    const auto rises = [&](const char* why) {
        EXPECT_GT(w.table.revision(), before) << why;
        before = w.table.revision();
    };
    ScannedTask adopted = sample(kTrainer, 4000);
    adopted.task.parent = 77;
    w.table.reconcile(std::vector{adopted}, 3990);
    rises("another parent");
    adopted.task.comm = "renamed";
    w.table.reconcile(std::vector{adopted}, 3990);
    rises("another name");
    adopted.task.memory.reset();
    w.table.reconcile(std::vector{adopted}, 3990);
    rises("no memory of its own");
    w.table.apply(Execed{.time_ns = 4100, .id = kTrainer, .target = kJob, .comm = "sh", .argv = {"sh"}});
    rises("another program");
    w.table.apply(exit_of(kTrainer, 4200));
    rises("gone");
}

TEST(ProcessTable, BooksOnlyFaultsSinceWatchingBegan) {
    Watch w;
    w.table.reconcile(std::vector{sample(kTrainer, 2000, {1000, 10})}, 1990);
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{0, 0}));
    w.table.reconcile(std::vector{sample(kTrainer, 3000, {1250, 11})}, 2990);
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{250, 1}));
}

TEST(ProcessTable, FaultCountersNeverGoDown) {
    Watch w;
    const ProcessId child{101, 1500};
    w.table.apply(fork_of(child, 1500));
    w.table.reconcile(std::vector{sample(child, 2000, {500, 0})}, 1990);
    w.tick();
    w.table.reconcile(std::vector{sample(child, 3000, {480, 0})}, 2990);  // a thread was missed in this read
    w.tick();
    EXPECT_EQ(w.counters().faults.minor, 500U);
    w.table.apply(exit_of(child, 3100, {510, 0}));
    w.tick();
    EXPECT_EQ(w.counters().faults.minor, 510U);
}

ScannedTask partial(ProcessId id, std::uint64_t time, Faults faults) {
    ScannedTask scanned = sample(id, time, faults);
    scanned.task.faults_partial = true;
    return scanned;
}

TEST(ProcessTable, BooksNoFaultsOfAProcessThatWasThereBeforeUntilAllItsThreadsWereVisited) {
    Watch w;
    w.table.reconcile(std::vector{partial(kTrainer, 2000, {100, 1})}, 1990);
    w.tick();
    w.table.reconcile(std::vector{partial(kTrainer, 3000, {150, 1})}, 2990);
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{0, 0}));
    w.table.reconcile(std::vector{sample(kTrainer, 4000, {9000, 9})}, 3990);
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{0, 0}));
    w.table.reconcile(std::vector{partial(kTrainer, 5000, {160, 1})}, 4990);  // less is known, nothing goes down
    w.tick();
    w.table.reconcile(std::vector{sample(kTrainer, 6000, {9100, 10})}, 5990);
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{100, 1}));
    w.table.apply(exit_of(kTrainer, 6100, {9150, 10}));
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{150, 1}));
}

TEST(ProcessTable, AnExitBeforeAllThreadsWereVisitedBooksNoFaultsOfBefore) {
    Watch w;
    w.table.reconcile(std::vector{partial(kTrainer, 2000, {100, 1})}, 1990);
    w.tick();
    w.table.apply(exit_of(kTrainer, 2100, {9000, 9}));
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{0, 0}));
    EXPECT_EQ(w.counters().exits, 1U);
}

TEST(ProcessTable, BooksTheLeastOfAProcessThatWasBornHereAndAllOfItAtItsExit) {
    Watch w;
    const ProcessId child{101, 1500};
    w.table.apply(fork_of(child, 1500));
    w.table.reconcile(std::vector{partial(child, 2000, {100, 0})}, 1990);
    w.tick();
    EXPECT_EQ(w.counters().faults.minor, 100U);
    w.table.apply(exit_of(child, 2100, {5000, 0}));
    w.tick();
    EXPECT_EQ(w.counters().faults.minor, 5000U);
}

TEST(ProcessTable, AProcessThatMovesInBringsNoFaultsAlong) {
    Watch w;
    w.table.apply(Moved{.time_ns = 1500, .id = kTrainer, .parent = 1, .target = kJob, .comm = "python3"});
    w.table.reconcile(std::vector{sample(kTrainer, 2000, {9000, 9})}, 1990);
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{0, 0}));
    EXPECT_EQ(w.counters().starts, 1U);
}

TEST(ProcessTable, AChildStartsWithItsParentsArguments) {
    Watch w;
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    w.table.living().at(kTrainer.pid).argv = {"python3", "train.py"};
    w.table.living().at(kTrainer.pid).details_wanted = false;
    w.table.apply(fork_of({101, 2100}, 2100));
    const TrackedProcess& child = w.table.living().at(101);
    EXPECT_THAT(child.argv, testing::ElementsAre("python3", "train.py"));
    EXPECT_FALSE(child.details_wanted);
    w.table.apply(Execed{.time_ns = 2200, .id = {101, 2100}, .target = kJob, .comm = "true", .argv = {"/bin/true"}});
    EXPECT_THAT(child.argv, testing::ElementsAre("/bin/true"));
    EXPECT_TRUE(child.details_wanted);
    EXPECT_FALSE(child.task.forked_without_exec);
}

TEST(ProcessTable, ProcessesOfARemovedTargetGoToTheOneAroundIt) {
    Watch w;
    w.nesting.add(kInner, kJob);
    w.table.reconcile(std::vector{sample(kTrainer, 2000, {}, kInner)}, 1990);
    w.tick();
    w.table.retarget(kInner, kJob);
    w.nesting.remove(kInner);
    w.tick();
    w.expect_balance(kJob);
    w.table.retarget(kJob, kNoCgroup);
    EXPECT_TRUE(w.table.living().empty());
}

TEST(ProcessTable, AnEndInATargetThatGoesRightAfterwardsCountsInTheOneAroundIt) {
    Watch w;
    w.nesting.add(kInner, kJob);
    w.table.reconcile(std::vector{sample(kTrainer, 2000, {}, kInner)}, 1990);
    w.tick();
    w.table.apply(exit_of(kTrainer, 2100));
    w.table.retarget(kInner, kJob);  // before anything was booked
    w.nesting.remove(kInner);
    w.tick();
    EXPECT_EQ(w.counters(kJob).exits, 1U);
    w.expect_balance(kJob);
}

TEST(ProcessTable, AMoveIntoATargetThatGoesRightAfterwardsIsAnExitWhereItCameFrom) {
    Watch w;
    w.nesting.add(kOther, kNoCgroup);
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    w.tick();
    w.table.apply(Moved{.time_ns = 2100, .id = kTrainer, .target = kOther});
    w.table.retarget(kOther, kNoCgroup);
    w.nesting.remove(kOther);
    w.tick();
    EXPECT_EQ(w.counters(kJob).exits, 1U);
    w.expect_balance(kJob);
}

TEST(Ledger, FoldsRanksBeyondItsBound) {
    Watch w;
    for (int i = 0; i < 5000; ++i) {
        TrackedProcess process{.task = sample({200 + i, 2000}, 2000).task};
        process.crossings = {{kNoCgroup, kJob}};
        w.ledger.book(process, {Role::trainer, i}, w.nesting);
    }
    EXPECT_LE(w.ledger.of(kJob).size(), 2049U);
    EXPECT_GT(w.ledger.folded_ranks(), 0U);
    std::uint64_t starts = 0;
    for (const auto& [key, counters] : w.ledger.of(kJob)) starts += counters.starts;
    EXPECT_EQ(starts, 5000U);
}

TEST(Nesting, RemovingTheMiddleOneJoinsTheOthers) {
    Nesting nesting;
    nesting.add(CgroupId{1}, kNoCgroup);
    nesting.add(CgroupId{2}, CgroupId{1});
    nesting.add(CgroupId{3}, CgroupId{2});
    nesting.remove(CgroupId{2});
    EXPECT_THAT(nesting.around(CgroupId{3}), testing::ElementsAre(CgroupId{3}, CgroupId{1}));
    EXPECT_THAT(nesting.around(kNoCgroup), testing::IsEmpty());
}

TEST(NearestLimit, IsTheOneWithTheLeastHeadroom) {
    EXPECT_FALSE(nearest_limit({}));
    const auto nearest = nearest_limit({{"own", {1000}, {100}}, {"a", {2000}, {1900}}, {"host", {9000}, {3000}}});
    ASSERT_TRUE(nearest);
    EXPECT_EQ(nearest->owner, "a");
    EXPECT_EQ(nearest->limit, Bytes{2000});
    EXPECT_EQ(nearest->headroom, Bytes{100});
    EXPECT_EQ(nearest_limit({{"own", {1000}, {5000}}})->headroom, Bytes{0});  // over it, as just before a kill
}

}  // namespace
}  // namespace memscope
