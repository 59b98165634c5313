#include "unit/model/watch.h"

namespace memscope {
namespace process_table_test {

using namespace test;

TEST(ProcessTable, CountsAProcessThatWasThereBeforeAsAStart) {
    Watch w;
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    w.tick();
    EXPECT_EQ(w.counters().starts, 1U);
    w.expect_balance();
}

TEST(ProcessTable, CountsAScanAndAForkEventOfOneProcessAsOneStart) {
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
    w.table.apply(exit_of({101, 1400}, 1550));  // of an earlier process that was never seen
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

// Scans do not find a process that is ending. Its exit event is sent when its memory has been freed.
TEST(ProcessTable, WaitsForTheExitOfOneThatIsEnding) {
    Watch w;
    bool ending = true;
    const auto is_ending = [&](ProcessId id) { return id == kTrainer && ending; };
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    for (std::uint64_t began = 3000; began < 9000; began += 1000) w.table.reconcile({}, began, is_ending);
    EXPECT_EQ(w.table.living().size(), 1U);
    ending = false;
    w.table.reconcile({}, 9000, is_ending);
    w.table.reconcile({}, 10000, is_ending);
    EXPECT_TRUE(w.table.living().empty());
    EXPECT_EQ(w.table.missed_exits(), 1U);
}

// On a slow machine a process can end after the events of the second scan were taken and before the process is checked.
TEST(ProcessTable, AnExitEventAfterTheScanIsNoMissedExit) {
    Watch w;
    bool ending = true;
    const auto is_ending = [&](ProcessId) { return ending; };
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    w.table.reconcile({}, 3000, is_ending);
    ending = false;
    w.table.reconcile({}, 4000, is_ending);
    w.table.apply(exit_of(kTrainer, 4100));
    w.table.reconcile({}, 5000, is_ending);
    w.tick();
    EXPECT_EQ(w.table.missed_exits(), 0U);
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
    w.table.apply(Moved{.time_ns = 2100, .id = kTrainer, .target = kJob});  // only out of the inner target
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

TEST(ProcessTable, AScanDoesNotBringBackAProcessThatExitedAfterItsVisit) {
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
    w.table.reconcile(std::vector{sample(kTrainer, 3000)}, 2990);  // moved back without an event
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
    w.table.reconcile(std::vector{sample(kTrainer, 2300)}, 2290);  // visited before the last move
    w.tick();
    EXPECT_EQ(w.counters(kJob).starts, 2U);
    EXPECT_EQ(w.counters(kJob).exits, 2U);
    EXPECT_EQ(w.counters(kOther).starts, 2U);
    EXPECT_EQ(w.table.living().at(kTrainer.pid).task.target, kOther);
}

TEST(ProcessTable, AcceptsProcessesInAnyOrder) {
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

TEST(ProcessTable, ReportsThatRolesMayHaveChanged) {
    Watch w;
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    w.tick();
    auto before = w.table.revision();
    w.table.reconcile(std::vector{sample(kTrainer, 3000, {5, 5})}, 2990);
    EXPECT_EQ(w.table.revision(), before) << "only its figures changed";
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

TEST(ProcessTable, AProcessSeenOnAGpuKeepsThatMarkUntilExec) {
    Watch w;
    w.table.reconcile(std::vector{sample(kTrainer, 2000)}, 1990);
    TrackedProcess& trainer = w.table.living().at(kTrainer.pid);
    const std::uint64_t before = w.table.revision();
    w.table.note_gpu_context(trainer, 3);
    EXPECT_GT(w.table.revision(), before) << "its role may have changed";
    const std::uint64_t after = w.table.revision();
    w.table.note_gpu_context(trainer, std::nullopt);
    EXPECT_EQ(w.table.revision(), after);
    EXPECT_EQ(trainer.gpu_index, 3) << "as it was first seen";
    w.table.apply(Execed{.time_ns = 2200, .id = kTrainer, .target = kJob, .comm = "true"});
    EXPECT_FALSE(trainer.gpu_context);
    EXPECT_FALSE(trainer.gpu_index);
}

TEST(ProcessTable, ProcessesOfARemovedTargetMoveToTheEnclosingTarget) {
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

TEST(ProcessTable, AnExitInATargetThatIsThenRemovedCountsInTheEnclosingTarget) {
    Watch w;
    w.nesting.add(kInner, kJob);
    w.table.reconcile(std::vector{sample(kTrainer, 2000, {}, kInner)}, 1990);
    w.tick();
    w.table.apply(exit_of(kTrainer, 2100));
    w.table.retarget(kInner, kJob);  // before anything was counted
    w.nesting.remove(kInner);
    w.tick();
    EXPECT_EQ(w.counters(kJob).exits, 1U);
    w.expect_balance(kJob);
}

TEST(ProcessTable, AMoveIntoATargetThatIsThenRemovedIsAnExitFromTheOldTarget) {
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

}  // namespace process_table_test
}  // namespace memscope
