#include "analysis/heap/free_growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace free_growth_test {

using Kind = GrowthCause::Kind;

constexpr std::uint64_t kMiBytes = 1 << 20;
Bytes mib(std::uint64_t n) { return {n * kMiBytes}; }

ProcessHeap heap_of(pid_t pid, double time, std::uint64_t malloc_free, std::uint64_t live,
                    std::uint64_t python_free = 0) {
    HeapCensus census{.process = {pid, 1}, .time = time, .anon = mib(malloc_free + live + python_free), .swap = {}};
    census.part(HeapPart::malloc_free) = mib(malloc_free);
    census.part(HeapPart::malloc_live) = mib(live);
    census.part(HeapPart::python_free) = mib(python_free);
    census.allocator = {.name = AllocatorName::glibc, .arenas = 64, .trimmable = mib(malloc_free * 9 / 10)};
    return {.role = {Role::trainer}, .census = census};
}

// Times of censuses and times of the rise are on one clock.
FreeGrowth after(const std::vector<std::vector<ProcessHeap>>& ticks) {
    FreeGrowth growth;
    for (const auto& heap : ticks) growth.update(Seconds{}, heap);
    return growth;
}

FreeGrowth::Rise rise(double since, double now, std::uint64_t from, std::uint64_t by) {
    return {.since = Seconds{since}, .now = Seconds{now}, .from = mib(from), .by = mib(by)};
}

TEST(FreeGrowth, FreeMemoryThatRoseBetweenTwoCensusesIsTheCause) {
    const auto growth = after({{heap_of(1, 600, 50, 450)}, {heap_of(1, 1800, 850, 550)}});
    const auto cause = growth.cause_of(rise(600, 1800, 500, 900));
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->kind, Kind::malloc_free);
    EXPECT_EQ(cause->bytes, mib(800));
    EXPECT_NEAR(cause->share, 800.0 / 900, 1e-9);
}

TEST(FreeGrowth, LiveMemoryIsNotExplained) {
    const auto growth = after({{heap_of(1, 600, 50, 450)}, {heap_of(1, 1800, 150, 1250)}});
    EXPECT_FALSE(growth.cause_of(rise(600, 1800, 500, 900)));
}

// A recurrent network whose hidden state keeps its graph: 96 of 506 MiB are free, and most of that came last.
TEST(FreeGrowth, ALeakWhoseLastSecondsGrewInFreedMemoryIsNotAcquitted) {
    const auto growth = after({{heap_of(1, 10, 10, 150)}, {heap_of(1, 60, 20, 385)}, {heap_of(1, 62, 96, 387)}});
    EXPECT_FALSE(growth.cause_of(rise(60, 62, 405, 78)));
}

TEST(FreeGrowth, LiveMemoryThatGrowsToo) {
    const auto growth = after({{heap_of(1, 600, 50, 450)}, {heap_of(1, 1800, 550, 750)}});
    EXPECT_FALSE(growth.cause_of(rise(600, 1800, 500, 900))) << "300 of 800 MiB are live";
}

TEST(FreeGrowth, FreeMemoryThatWasThereBeforeIsNotTheCause) {
    const auto growth = after({{heap_of(1, 600, 2000, 500)}, {heap_of(1, 1800, 2000, 1400)}});
    EXPECT_FALSE(growth.cause_of(rise(600, 1800, 2500, 900)));
}

// Without an earlier census, free memory counts only as far as it exceeds all memory at the beginning of the rise.
TEST(FreeGrowth, OneCensusCountsOnlyFreeMemoryThatMustBeNew) {
    const auto growth = after({{heap_of(1, 1800, 2000, 500)}});
    EXPECT_FALSE(growth.cause_of(rise(600, 1800, 1500, 1200))) << "500 of 1200 MiB are certain";
}

TEST(FreeGrowth, OneCensusIsEnoughWhereFreeMemoryIsMuchLargerThanAllMemoryBefore) {
    const auto growth = after({{heap_of(1, 1800, 2000, 300)}});
    const auto cause = growth.cause_of(rise(600, 1800, 300, 2000));
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->bytes, mib(1700));
}

TEST(FreeGrowth, AnOldCensusExplainsNothing) {
    const auto growth = after({{heap_of(1, 600, 50, 450)}, {heap_of(1, 1800, 850, 550)}});
    EXPECT_TRUE(growth.cause_of(rise(600, 1800 + 1800, 500, 900)));
    EXPECT_FALSE(growth.cause_of(rise(600, 1800 + 1801, 500, 900)));
}

TEST(FreeGrowth, ACensusWhosePartsDoNotAddUpExplainsNothing) {
    ProcessHeap torn = heap_of(1, 1800, 850, 550);
    torn.census.anon = mib(2000);
    EXPECT_FALSE(is_complete_enough(torn.census));
    const auto growth = after({{heap_of(1, 600, 50, 450)}, {torn}});
    EXPECT_FALSE(growth.cause_of(rise(600, 1800, 500, 900)));
    ProcessHeap later = torn;
    later.census.time = 1900;
    const auto known = after({{heap_of(1, 600, 50, 450)}, {heap_of(1, 1800, 850, 550)}, {later}});
    EXPECT_FALSE(known.cause_of(rise(600, 1900, 500, 900))) << "its figures would be in the explanation";
}

TEST(FreeGrowth, FreeMemoryOfPythonHasItsOwnName) {
    const auto growth = after({{heap_of(1, 600, 10, 450)}, {heap_of(1, 1800, 20, 450, 800)}});
    const auto cause = growth.cause_of(rise(600, 1800, 460, 810));
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->kind, Kind::python_free);
}

TEST(FreeGrowth, ARoleIsExplainedByItsOwnProcesses) {
    ProcessHeap worker = heap_of(2, 1800, 900, 100);
    worker.role = {Role::dataloader_worker};
    const auto growth = after({{heap_of(1, 1800, 10, 900), worker}});
    FreeGrowth::Rise of = rise(600, 1800, 100, 900);
    of.role = RoleKey{Role::trainer};
    EXPECT_FALSE(growth.cause_of(of));
    of.role = RoleKey{Role::dataloader_worker};
    EXPECT_TRUE(growth.cause_of(of));
}

TEST(FreeGrowth, AProcessThatIsGoneExplainsNothing) {
    const auto growth = after({{heap_of(1, 1800, 2000, 300)}, {}});
    EXPECT_FALSE(growth.cause_of(rise(600, 1800, 300, 2000)));
}

TEST(FreeGrowth, KeepsTheFirstCensusOfMany) {
    FreeGrowth growth;
    for (int i = 0; i < 1000; ++i)
        growth.update(Seconds{}, {heap_of(1, 100.0 * (i + 1), 50 + static_cast<std::uint64_t>(i), 450)});
    const auto cause = growth.cause_of(rise(50, 100'000, 500, 1000));
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->bytes, mib(999));
}

}  // namespace free_growth_test
}  // namespace memscope
