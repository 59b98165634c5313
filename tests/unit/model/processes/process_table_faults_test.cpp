#include "unit/model/watch.h"

namespace memscope {
namespace process_table_faults_test {

using namespace test;

ScannedTask partial(ProcessId id, std::uint64_t time, Faults faults) {
    ScannedTask scanned = sample(id, time, faults);
    scanned.task.faults_partial = true;
    return scanned;
}

TEST(ProcessTable, CountsOnlyFaultsSinceWatchingBegan) {
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

TEST(ProcessTable, CountsNoFaultsOfAnOlderProcessUntilAllItsThreadsWereVisited) {
    Watch w;
    w.table.reconcile(std::vector{partial(kTrainer, 2000, {100, 1})}, 1990);
    w.tick();
    w.table.reconcile(std::vector{partial(kTrainer, 3000, {150, 1})}, 2990);
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{0, 0}));
    w.table.reconcile(std::vector{sample(kTrainer, 4000, {9000, 9})}, 3990);
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{0, 0}));
    w.table.reconcile(std::vector{partial(kTrainer, 5000, {160, 1})},
                      4990);  // a lower bound: the counter does not fall
    w.tick();
    w.table.reconcile(std::vector{sample(kTrainer, 6000, {9100, 10})}, 5990);
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{100, 1}));
    w.table.apply(exit_of(kTrainer, 6100, {9150, 10}));
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{150, 1}));
}

TEST(ProcessTable, AnExitBeforeAllThreadsWereVisitedCountsNoEarlierFaults) {
    Watch w;
    w.table.reconcile(std::vector{partial(kTrainer, 2000, {100, 1})}, 1990);
    w.tick();
    w.table.apply(exit_of(kTrainer, 2100, {9000, 9}));
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{0, 0}));
    EXPECT_EQ(w.counters().exits, 1U);
}

TEST(ProcessTable, AProcessThatMovesInBringsNoFaultsAlong) {
    Watch w;
    w.table.apply(Moved{.time_ns = 1500, .id = kTrainer, .parent = 1, .target = kJob, .comm = "python3"});
    w.table.reconcile(std::vector{sample(kTrainer, 2000, {9000, 9})}, 1990);
    w.tick();
    EXPECT_EQ(w.counters().faults, (Faults{0, 0}));
    EXPECT_EQ(w.counters().starts, 1U);
}

TEST(ProcessTable, CountsTheKnownFaultsOfANewProcessAndAllOfThemAtItsExit) {
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

}  // namespace process_table_faults_test
}  // namespace memscope
