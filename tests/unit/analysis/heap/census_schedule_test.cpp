#include "analysis/heap/census_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace census_schedule_test {

using Reason = CensusTrigger::Reason;
using testing::ElementsAre;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr Bytes kGiB{1 << 30};
constexpr ProcessId kOne{10, 1};
constexpr ProcessId kTwo{20, 1};

Process process(pid_t pid, Role role, std::optional<int> rank, std::uint64_t mib, std::uint64_t inherited = 0) {
    Process made{.role = role, .rank = rank};
    made.task.id = {pid, 1};
    made.task.memory = AddressSpace{.anon = Bytes{mib * kMiB}};
    made.inherited = Bytes{inherited * kMiB};
    return made;
}

std::vector<pid_t> pids(const std::vector<CensusWish>& wishes) {
    std::vector<pid_t> all;
    for (const CensusWish& wish : wishes) all.push_back(wish.process.pid);
    return all;
}

std::optional<pid_t> next(CensusSchedule& schedule, double now) {
    const auto wish = schedule.next(Seconds{now});
    return wish ? std::optional(wish->process.pid) : std::nullopt;
}

TEST(CensusOf, TheLargestProcessOfEachRoleAndRank) {
    const std::vector<Process> processes = {
        process(1, Role::launcher, {}, 5),           process(2, Role::trainer, 0, 1000),
        process(3, Role::trainer, 1, 2000),          process(4, Role::dataloader_worker, 0, 300, 250),
        process(5, Role::dataloader_worker, 0, 200), process(6, Role::helper, {}, 60)};
    EXPECT_THAT(pids(largest_processes(processes)), ElementsAre(3, 2, 5)) << "own memory counts, small ones do not";
}

TEST(CensusOf, NoMoreThanFourProcesses) {
    std::vector<Process> processes;
    for (int rank = 0; rank < 8; ++rank) processes.push_back(process(rank + 1, Role::trainer, rank, 1000));
    EXPECT_EQ(largest_processes(processes).size(), 4U);
    EXPECT_TRUE(largest_processes({}).empty());
}

TargetSnapshot judged(Verdict verdict, bool warmed_up) {
    TargetSnapshot target;
    target.verdicts.push_back({.judgement = {.verdict = verdict}});
    if (warmed_up) target.verdicts[0].judgement.warmup_ended = Seconds{10};
    return target;
}

TEST(CensusTrigger, TheEndOfAWarmUpWantsOneReading) {
    CensusTrigger trigger(Seconds{900});
    EXPECT_EQ(trigger.update(Seconds{1}, judged(Verdict::warming_up, false)), Reason::none);
    EXPECT_EQ(trigger.update(Seconds{2}, judged(Verdict::stable, true)), Reason::warmup_ended);
    EXPECT_EQ(trigger.update(Seconds{3}, judged(Verdict::stable, true)), Reason::none);
    EXPECT_EQ(trigger.update(Seconds{4}, judged(Verdict::warming_up, false)), Reason::none) << "the job was restarted";
    EXPECT_EQ(trigger.update(Seconds{5}, judged(Verdict::stable, true)), Reason::warmup_ended);
}

TEST(CensusTrigger, ALeakWantsACensusWhenItIsFoundAndAgainWhileItLasts) {
    CensusTrigger trigger(Seconds{900});
    EXPECT_EQ(trigger.update(Seconds{1000}, judged(Verdict::leaking, true)), Reason::leak_found);
    EXPECT_EQ(trigger.update(Seconds{1001}, judged(Verdict::leaking, true)), Reason::none);
    EXPECT_EQ(trigger.update(Seconds{1899}, judged(Verdict::leaking, true)), Reason::none);
    EXPECT_EQ(trigger.update(Seconds{1900}, judged(Verdict::leaking, true)), Reason::urgent);
    EXPECT_EQ(trigger.update(Seconds{1901}, judged(Verdict::leaking, true)), Reason::none);
    EXPECT_EQ(trigger.update(Seconds{9000}, judged(Verdict::stable, true)), Reason::none);
}

TEST(CensusTrigger, ALeakOfARoleOrOfAGpuCountsAndOneOfPinnedMemoryDoesNot) {
    CensusTrigger trigger(Seconds{900});
    TargetSnapshot target = judged(Verdict::stable, true);
    EXPECT_EQ(trigger.update(Seconds{1}, target), Reason::warmup_ended);
    target.verdicts.push_back({.scope = VerdictScope::pinned, .judgement = {.verdict = Verdict::leaking}});
    EXPECT_EQ(trigger.update(Seconds{2}, target), Reason::none);
    target.verdicts.push_back({.scope = VerdictScope::gpu, .gpu = "GPU-0", .judgement = {.verdict = Verdict::leaking}});
    EXPECT_EQ(trigger.update(Seconds{2}, target), Reason::leak_found) << "tensors on a GPU have holders";
    target.verdicts.push_back(
        {.scope = VerdictScope::role, .role = RoleKey{Role::trainer}, .judgement = {.verdict = Verdict::leaking}});
    EXPECT_EQ(trigger.update(Seconds{3}, target), Reason::leak_found);
}

TEST(CensusTrigger, APrecursorWantsACensusWhenItBecomesActive) {
    CensusTrigger trigger(Seconds{900});
    TargetSnapshot target = judged(Verdict::warming_up, false);
    target.precursors.push_back({.kind = PrecursorKind::near_limit});
    EXPECT_EQ(trigger.update(Seconds{1}, target), Reason::urgent);
    EXPECT_EQ(trigger.update(Seconds{2}, target), Reason::none);
    target.precursors.push_back({.kind = PrecursorKind::eta});
    EXPECT_EQ(trigger.update(Seconds{3}, target), Reason::urgent);
    target.precursors.clear();
    EXPECT_EQ(trigger.update(Seconds{4}, target), Reason::none);
    target.precursors.push_back({.kind = PrecursorKind::eta});
    EXPECT_EQ(trigger.update(Seconds{5}, target), Reason::urgent);
}

TEST(CensusSchedule, AProcessIsReadAtMostOnceInFiveMinutesAndTheWishWaits) {
    CensusSchedule schedule;
    schedule.want(Seconds{0}, {kOne, kGiB, true});
    schedule.want(Seconds{0}, {kOne, kGiB, true});
    EXPECT_EQ(next(schedule, 0), 10);
    EXPECT_EQ(next(schedule, 0), std::nullopt);
    schedule.took(Seconds{1}, kOne, kGiB, Seconds{0.2});
    schedule.want(Seconds{2}, {kOne, kGiB, true});
    EXPECT_EQ(next(schedule, 300.9), std::nullopt);
    EXPECT_EQ(schedule.waiting(), 1U);
    EXPECT_EQ(next(schedule, 301), 10);
}

TEST(CensusSchedule, ACensusThatAUserAskedForCountsToo) {
    CensusSchedule schedule;
    schedule.took(Seconds{0}, kOne, kGiB, Seconds{3.5});
    schedule.want(Seconds{1}, {kOne, kGiB, true});
    schedule.want(Seconds{1}, {kTwo, kGiB, true});
    EXPECT_EQ(next(schedule, 2), std::nullopt) << "one was just read, and the budget is used up";
}

// The limit holds in every hour, for any requests.
TEST(CensusSchedule, NeverTakesMoreThanAThousandthOfACore) {
    CensusSchedule schedule;
    std::vector<std::pair<double, double>> taken;
    double sum = 0;
    for (double now = 0; now < 24 * 3600; now += 10) {
        for (pid_t pid = 1; pid <= 40; ++pid) schedule.want(Seconds{now}, {{pid, 1}, Bytes{2 * kGiB.n}, true});
        while (const auto wish = schedule.next(Seconds{now})) {
            const double cost = 0.25;
            schedule.took(Seconds{now}, wish->process, wish->anon, Seconds{cost});
            taken.emplace_back(now, cost);
            sum += cost;
        }
    }
    for (const auto& [began, first] : taken) {
        double in_hour = 0;
        for (const auto& [at, cost] : taken)
            if (at >= began && at < began + 3600) in_hour += cost;
        EXPECT_LE(in_hour, 3.6) << "from " << began;
    }
    EXPECT_GT(sum, 0.8 * 24 * 3.6) << "and uses what it may";
}

// The limit holds in every hour, for any requests.
TEST(CensusSchedule, CensusesWithObjectsNeverTakeMoreThanAHundredthOfACore) {
    CensusSchedule schedule;
    std::vector<std::pair<double, double>> taken;
    double sum = 0;
    for (double now = 0; now < 12 * 3600; now += 10) {
        for (pid_t pid = 1; pid <= 40; ++pid) schedule.want(Seconds{now}, {{pid, 1}, kGiB, true, true});
        while (const auto wish = schedule.next(Seconds{now})) {
            const double cost = wish->objects ? 1.2 : 0.2;
            schedule.took(Seconds{now}, wish->process, wish->anon, Seconds{cost}, wish->objects);
            if (!wish->objects) continue;
            taken.emplace_back(now, cost);
            sum += cost;
        }
    }
    for (const auto& [began, first] : taken) {
        double in_hour = 0;
        for (const auto& [at, cost] : taken)
            if (at >= began && at < began + 3600) in_hour += cost;
        EXPECT_LE(in_hour, 36) << "from " << began;
    }
    EXPECT_GT(sum, 0.8 * 12 * 36) << "and uses what it may";
}

TEST(CensusSchedule, ACensusWhoseObjectsAreTooExpensiveIsTakenWithoutThem) {
    CensusSchedule schedule;
    schedule.took(Seconds{0}, kTwo, kGiB, Seconds{35.5}, true);
    schedule.want(Seconds{1}, {kOne, kGiB, true, true});
    const auto wish = schedule.next(Seconds{2});
    ASSERT_TRUE(wish);
    EXPECT_FALSE(wish->objects);
}

TEST(CensusSchedule, TheFirstCensusOfALeakIsAlwaysTaken) {
    CensusSchedule schedule;
    schedule.took(Seconds{0}, kOne, kGiB, Seconds{50}, true);
    schedule.took(Seconds{0}, kOne, kGiB, Seconds{5});
    schedule.want(Seconds{1}, {kTwo, kGiB, true, true});
    schedule.want(Seconds{1}, {.process = kOne, .anon = kGiB, .urgent = true, .objects = true, .always = true});
    EXPECT_EQ(next(schedule, 10), std::nullopt) << "it was read a moment ago, and the budget is used up";
    const auto wish = schedule.next(Seconds{31});
    ASSERT_TRUE(wish);
    EXPECT_EQ(wish->process, kOne);
    EXPECT_TRUE(wish->objects);
    EXPECT_EQ(next(schedule, 40), std::nullopt);
}

TEST(CensusSchedule, ACensusThatIsWantedSoonComesAfterAQuarterOfAMinuteIfTheBudgetAllowsIt) {
    CensusSchedule schedule;
    const CensusWish wish{.process = kOne, .anon = kGiB, .objects = true, .soon = true};
    schedule.want(Seconds{0}, wish);
    EXPECT_EQ(next(schedule, 0), kOne.pid);
    schedule.took(Seconds{1}, kOne, kGiB, Seconds{1}, true);
    schedule.want(Seconds{10}, wish);
    EXPECT_EQ(next(schedule, 15.9), std::nullopt);
    EXPECT_EQ(next(schedule, 16), kOne.pid);
    schedule.took(Seconds{32}, kOne, kGiB, Seconds{36}, true);
    schedule.want(Seconds{40}, wish);
    const auto third = schedule.next(Seconds{80});
    ASSERT_TRUE(third);
    EXPECT_FALSE(third->objects) << "no budget is left";
}

TEST(CensusSchedule, TheBudgetGrowsWithTheMachine) {
    const auto most = [](unsigned cores) {  // CPU time of censuses with objects that may be taken at once
        CensusSchedule schedule(CensusSchedule::kAgain, cores);
        double sum = 0;
        for (pid_t pid = 1; pid <= 1000; ++pid) {
            schedule.want(Seconds{0}, {{pid, 1}, kGiB, true, true});
            const auto wish = schedule.next(Seconds{0});
            if (!wish || !wish->objects) break;
            schedule.took(Seconds{0}, wish->process, wish->anon, Seconds{1}, true);
            ++sum;
        }
        return sum;
    };
    EXPECT_EQ(most(1), 36) << "1 % of a core in an hour";
    EXPECT_EQ(most(8), 36);
    EXPECT_EQ(most(64), 230) << "0.1 % of all cores";
    EXPECT_EQ(most(192), 360) << "at most 10 % of a core";
}

TEST(CensusSchedule, TheFirstCensusesOfATargetUseWhatItHasSaved) {
    CensusSchedule schedule;
    schedule.took(Seconds{0}, kTwo, kGiB, Seconds{36}, true);
    schedule.want(Seconds{1}, {.process = kOne, .anon = kGiB, .objects = true, .soon = true, .saved = Seconds{0.5}});
    const auto none = schedule.next(Seconds{1});
    EXPECT_FALSE(none && none->objects) << "another target has used up the budget";
    schedule.want(Seconds{100}, {.process = kOne, .anon = kGiB, .objects = true, .soon = true, .saved = Seconds{40}});
    const auto first = schedule.next(Seconds{100});
    ASSERT_TRUE(first);
    EXPECT_TRUE(first->objects);
}

TEST(StartWatch, ImportsEndWhenNoMoreLibrariesAreRead) {
    StartWatch start(Seconds{5});
    const Seconds age{3};
    for (int now = 0; now < 10; ++now)
        EXPECT_FALSE(start.has_calmed(Seconds{now}, Bytes{kMiB * 30 * static_cast<std::uint64_t>(now)}, age)) << now;
    for (int now = 10; now < 14; ++now) EXPECT_FALSE(start.has_calmed(Seconds{now}, Bytes{kMiB * 270}, age)) << now;
    EXPECT_TRUE(start.has_calmed(Seconds{14}, Bytes{kMiB * 270}, age));
}

TEST(StartWatch, AProcessThatReadsFilesForEverIsWaitedForHalfAMinute) {
    StartWatch start(Seconds{5});
    int calm = 0;
    for (int now = 0; calm == 0 && now < 100; ++now)
        if (start.has_calmed(Seconds{now}, Bytes{kMiB * 30 * static_cast<std::uint64_t>(now)}, Seconds{now}))
            calm = now;
    EXPECT_EQ(calm, 30);
}

TEST(StartWatch, AnOldProcessHasStartedLongAgo) {
    StartWatch start(Seconds{5});
    EXPECT_FALSE(start.has_calmed(Seconds{100}, Bytes{0}, Seconds{3600}));
    EXPECT_FALSE(start.has_calmed(Seconds{104}, Bytes{kMiB * 100}, Seconds{3604}));
    EXPECT_TRUE(start.has_calmed(Seconds{105}, Bytes{kMiB * 200}, Seconds{3605}));
}

TEST(CensusSchedule, WishesForOneProcessAreJoined) {
    CensusSchedule schedule;
    schedule.want(Seconds{0}, {kOne, kGiB, false, true});
    schedule.want(Seconds{0}, {kOne, kGiB, true, false});
    const auto wish = schedule.next(Seconds{0});
    ASSERT_TRUE(wish);
    EXPECT_TRUE(wish->urgent);
    EXPECT_TRUE(wish->objects);
}

TEST(CensusSchedule, ACensusThatCostsMoreThanTheBudgetIsTakenOnceInAnHour) {
    CensusSchedule schedule;
    const Bytes huge{64 * kGiB.n};
    int taken = 0;
    for (double now = 0; now < 4 * 3600; now += 10) {
        schedule.want(Seconds{now}, {kOne, huge, true});
        if (schedule.next(Seconds{now})) {
            schedule.took(Seconds{now}, kOne, huge, Seconds{5});
            ++taken;
        }
    }
    EXPECT_GE(taken, 3);
    EXPECT_LE(taken, 4);
}

TEST(CensusSchedule, ALeakComesBeforeReadingsAfterAWarmUp) {
    CensusSchedule schedule;
    schedule.want(Seconds{0}, {kOne, kGiB, false});
    schedule.want(Seconds{1}, {kTwo, kGiB, true});
    EXPECT_EQ(next(schedule, 2), 20);
    EXPECT_EQ(next(schedule, 2), 10);
}

TEST(CensusSchedule, AReadingAfterAWarmUpThatComesTooLateIsNotTaken) {
    CensusSchedule schedule;
    schedule.took(Seconds{0}, kTwo, kGiB, Seconds{3.6});
    schedule.want(Seconds{1}, {kOne, kGiB, false});
    EXPECT_EQ(next(schedule, 10), std::nullopt);
    EXPECT_EQ(next(schedule, 3700), std::nullopt);
    EXPECT_EQ(schedule.waiting(), 0U);
}

TEST(CensusSchedule, LearnsWhatACensusCosts) {
    CensusSchedule schedule;
    const Seconds before = schedule.estimate(kGiB);
    schedule.took(Seconds{0}, kOne, kGiB, Seconds{2});
    EXPECT_GT(schedule.estimate(kGiB), before);
    EXPECT_EQ(schedule.estimate(kGiB), Seconds{2});
    EXPECT_EQ(schedule.estimate({100 * kGiB.n}), Seconds{5}) << "a census has a time limit";
}

TEST(CensusSchedule, ForgetsProcessesThatHaveEnded) {
    CensusSchedule schedule;
    schedule.want(Seconds{0}, {kOne, kGiB, true});
    schedule.want(Seconds{0}, {kTwo, kGiB, true});
    schedule.keep_only([](const ProcessId& process) { return process == kTwo; });
    EXPECT_EQ(next(schedule, 0), 20);
    EXPECT_EQ(next(schedule, 0), std::nullopt);
}

TEST(CensusSchedule, KeepsABoundedNumberOfWishesAndDropsReadingsFirst) {
    CensusSchedule schedule;
    schedule.want(Seconds{0}, {kOne, kGiB, true});
    for (pid_t pid = 100; pid < 1100; ++pid) schedule.want(Seconds{0}, {{pid, 1}, kGiB, false});
    EXPECT_EQ(schedule.waiting(), 256U);
    EXPECT_EQ(next(schedule, 0), 10);
}

}  // namespace census_schedule_test
}  // namespace memscope
