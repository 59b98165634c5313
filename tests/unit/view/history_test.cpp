#include "view/history.h"

#include <gtest/gtest.h>

#include "example.h"

namespace memscope::view {
namespace history_test {

using test::example;
using test::mib;

const RoleKey kTrainer{Role::trainer, std::nullopt};
const ProcessId kTrainerId{101, 101000};

Snapshot grown(double time, std::uint64_t mebibytes, std::uint64_t faults = 1000) {
    Snapshot snapshot = example(time);
    auto& task = snapshot.targets[0].processes[1].task;
    task.memory->anon = mib(mebibytes);
    task.faults.minor = faults;
    test::count_roles(snapshot.targets[0]);
    return snapshot;
}

TEST(History, ARateNeedsTwoTicks) {
    History history;
    history.add(grown(0, 100));
    EXPECT_FALSE(history.rates(kTrainerId).own);
    EXPECT_FALSE(history.rates("train", kTrainer).faults);
    history.add(grown(1, 108, 1500));
    EXPECT_DOUBLE_EQ(*history.rates(kTrainerId).own, 8.0 * (1 << 20));
    EXPECT_DOUBLE_EQ(*history.rates("train", kTrainer).own, 8.0 * (1 << 20));
    EXPECT_DOUBLE_EQ(*history.rates(kTrainerId).faults, 500);
    EXPECT_DOUBLE_EQ(*history.rates("train", kTrainer).faults, 500);
}

TEST(History, RatesAreOverTheLastTenSeconds) {
    History history;
    for (int t = 0; t <= 60; ++t) history.add(grown(t, t < 30 ? 100 : 200));  // a step, long ago
    EXPECT_DOUBLE_EQ(*history.rates(kTrainerId).own, 0);
    for (int t = 61; t <= 66; ++t) history.add(grown(t, 260));
    const double rate = *history.rates(kTrainerId).own / (1 << 20);  // 60 MiB over 10 to 12 seconds
    EXPECT_GE(rate, 5);
    EXPECT_LE(rate, 6);
}

TEST(History, LongIntervalsUseTheTickBefore) {
    History history;
    for (int t = 0; t <= 300; t += 60) history.add(grown(t, static_cast<std::uint64_t>(100 + t)));
    EXPECT_DOUBLE_EQ(*history.rates(kTrainerId).own, 1 << 20);
}

TEST(History, AVanishedProcessIsForgotten) {
    History history;
    history.add(grown(0, 100));
    history.add(grown(1, 100));
    Snapshot without = grown(2, 100);
    without.targets[0].processes.erase(without.targets[0].processes.begin() + 1);
    history.add(without);
    EXPECT_FALSE(history.rates(kTrainerId).own);
    Snapshot reused = grown(3, 900);  // the pid again, another process
    reused.targets[0].processes[1].task.id.start_ns = 5;
    history.add(reused);
    EXPECT_FALSE(history.rates({101, 5}).own);
}

TEST(History, ARoleWithoutProcessesFallsToZeroAndKeepsItsLine) {
    History history;
    history.add(grown(0, 100));
    Snapshot without = grown(1, 100);
    without.targets[0].roles.erase(kTrainer);
    history.add(without);
    EXPECT_EQ(history.own("train", kTrainer).values, (std::vector<std::uint64_t>{mib(100).n, 0}));
}

TEST(History, TheSameTickTwiceCountsOnce) {  // the last one comes again, marked as ended
    History history;
    history.add(grown(0, 100));
    history.add(grown(1, 101));
    history.add(grown(1, 101));
    EXPECT_EQ(history.own("train", kTrainer).values.size(), 2);
    EXPECT_DOUBLE_EQ(*history.rates(kTrainerId).own, 1 << 20);
}

TEST(History, AClockThatIsSetBackRestartsTheHistory) {
    History history;
    history.add(grown(100, 100));
    history.add(grown(101, 101));
    history.add(grown(50, 102));
    EXPECT_FALSE(history.rates(kTrainerId).own);
    EXPECT_EQ(history.own("train", kTrainer).values.size(), 1);
    EXPECT_EQ(history.watched("train"), Seconds{0});
}

TEST(History, ACounterThatWentBackHasNoRate) {  // another cgroup under the same name
    History history;
    history.add(grown(0, 100, 5000));
    history.add(grown(1, 100, 10));
    EXPECT_FALSE(history.rates("train", kTrainer).faults);
}

TEST(History, KeepsRatesOfABoundedNumberOfProcesses) {
    Snapshot many = example(0);
    for (int i = 0; i < 6000; ++i)
        many.targets[0].processes.push_back(test::process(10000 + i, Role::other, "x", "x", mib(1)));
    History history;
    history.add(many);
    many.time = 1;
    history.add(many);
    std::size_t with_rate = 0;
    for (const Process& process : many.targets[0].processes)
        with_rate += history.rates(process.task.id).own.has_value();
    EXPECT_EQ(with_rate, History::kProcesses);
}

TEST(History, BoundsTheLinesByTargetsRolesAndTicks) {
    Snapshot many;
    for (int t = 0; t < 300; ++t) many.targets.push_back(test::training(("t" + std::to_string(1000 + t)).c_str()));
    auto& crowd = many.targets[0];
    for (int i = 0; i < 100; ++i) {
        crowd.processes.push_back(test::process(10000 + i, Role::other, "x", "x", mib(1)));
        crowd.processes.back().rank = i;
    }
    test::count_roles(crowd);
    History history;
    for (int t = 0; t < 125; ++t) {
        many.time = t;
        history.add(many);
    }
    std::size_t with_line = 0;
    for (const auto& [role, totals] : crowd.roles) with_line += !history.own("t1000", role).values.empty();
    EXPECT_EQ(with_line, History::kRoles);
    EXPECT_EQ(history.own("t1000", kTrainer).values.size(), History::kTicks);
    EXPECT_FALSE(history.own("t1255", kTrainer).values.empty());
    EXPECT_TRUE(history.own("t1256", kTrainer).values.empty());
}

TEST(ViewCurve, KeepsSpikesAndTheWholeTimeInABoundedNumberOfPoints) {
    TargetCurve curve;
    for (int i = 0; i < 100'000; ++i) curve.add(i, Bytes{i == 777 ? 5'000U : i == 778 ? 1U : 100U});
    EXPECT_LT(curve.points().size(), TargetCurve::kMost);
    EXPECT_LT(curve.points().front().time, 500);
    EXPECT_EQ(curve.points().back().time, 99'999);
    const auto [low, high] = std::ranges::minmax(curve.points(), {}, &CurvePoint::size);
    EXPECT_EQ(high.size.n, 5'000U);
    EXPECT_EQ(low.size.n, 1U);
    EXPECT_TRUE(std::ranges::is_sorted(curve.points(), {}, &CurvePoint::time));
    for (int i = 0; i < 1000; ++i) curve.add_death(i);
    EXPECT_EQ(curve.deaths().size(), TargetCurve::kMostDeaths);
    EXPECT_EQ(curve.deaths().back(), 999);
}

}  // namespace history_test
}  // namespace memscope::view
