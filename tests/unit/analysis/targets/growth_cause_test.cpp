#include "analysis/targets/growth_cause.h"

#include <gtest/gtest.h>

namespace memscope {
namespace growth_cause_test {

using Kind = GrowthCause::Kind;
constexpr std::uint64_t kMiB = 1 << 20;
Bytes mib(double n) { return {static_cast<std::uint64_t>(n * kMiB)}; }

TEST(GrowthCause, IsThePartThatMakesUpMoreThanHalfOfTheRise) {
    PartsHistory history(Seconds(5));
    for (double t = 0; t < 1000; t += 1) {
        const double leak = t < 400 ? 0 : t - 400;
        history.add(Seconds(t), {.judged = mib(500 + leak), .unshared = mib(0.6 * leak), .kernel = mib(0.3 * leak)});
    }
    const auto cause = history.cause_since(Seconds(400));
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->kind, Kind::unsharing);
    EXPECT_NEAR(cause->share, 0.6, 0.02);
    EXPECT_NEAR(static_cast<double>(cause->bytes.n) / kMiB, 0.6 * 0.875 * 600, 10);
}

TEST(GrowthCause, IsUnknownIfNoPartHasHalfOfTheRise) {
    PartsHistory history(Seconds(5));
    for (double t = 0; t < 600; t += 1)
        history.add(Seconds(t), {.judged = mib(500 + t), .unshared = mib(0.4 * t), .shmem = mib(0.4 * t)});
    EXPECT_FALSE(history.cause_since(Seconds(0)));
}

TEST(GrowthCause, IgnoresGrowthBeforeTheLeakBegan) {
    PartsHistory history(Seconds(5));
    for (double t = 0; t < 2000; t += 1) {
        const double copied = std::min(t, 400.0);  // only at the start
        const double kept = t < 1000 ? 0 : t - 1000;
        history.add(Seconds(t), {.judged = mib(500 + copied + kept), .unshared = mib(copied)});
    }
    EXPECT_FALSE(history.cause_since(Seconds(1000)));
}

TEST(GrowthCause, ExplainsTheFloorNotSpikes) {
    PartsHistory history(Seconds(5));
    for (double t = 0; t < 3000; t += 1) {
        // Temporary shared memory, later on.
        const double spike = t > 1000 && static_cast<int>(t) % 50 < 10 ? 300 : 0;
        history.add(Seconds(t), {.judged = mib(500 + t / 20 + spike), .unshared = mib(t / 20), .shmem = mib(spike)});
    }
    const auto cause = history.cause_since(Seconds(0));
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->kind, Kind::unsharing);
    EXPECT_GT(cause->share, 0.9);
}

TEST(GrowthCause, IsKnownAfterDaysToo) {
    PartsHistory history(Seconds(5));
    constexpr double kDays = 3 * 86400;
    for (double t = 0; t < kDays; t += 5)
        history.add(Seconds(t), {.judged = mib(5000 + t / 100), .page_tables = mib(t / 100)});
    const auto cause = history.cause_since(Seconds(kDays / 2));
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->kind, Kind::page_tables);
    EXPECT_GT(cause->share, 0.95);
}

TEST(GrowthCause, AFallHasNoCause) {
    PartsHistory history(Seconds(5));
    for (double t = 0; t < 100; t += 1) history.add(Seconds(t), {.judged = mib(500 - t), .shmem = mib(t)});
    EXPECT_FALSE(history.cause_since(Seconds(0)));
    EXPECT_FALSE(PartsHistory(Seconds(5)).cause_since(Seconds(0)));
}

TEST(HeldParts, PageTablesComeFromTheCgroupOrFromItsProcesses) {
    TargetSnapshot target;
    target.memory.unreclaimable = mib(100);
    target.memory.by_kind = {.anon = mib(60), .shmem = mib(10), .kernel = mib(40)};
    target.processes.resize(2);
    for (Process& process : target.processes) process.task.memory = AddressSpace{.page_tables = mib(4)};
    EXPECT_EQ(held_parts(target, mib(100)).page_tables, mib(8)) << "v1 has no sum";
    EXPECT_EQ(held_parts(target, mib(100)).kernel, mib(22)) << "without reclaimable kernel memory";
    target.memory.page_tables = mib(9);
    EXPECT_EQ(held_parts(target, mib(100)).page_tables, mib(9));
    target.memory.measured_at = "user.slice";
    EXPECT_EQ(held_parts(target, mib(100)).page_tables, mib(0)) << "only anonymous memory is judged";
}

}  // namespace growth_cause_test
}  // namespace memscope
