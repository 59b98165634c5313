#include <gmock/gmock.h>

#include "unit/model/growth/ranges.h"

namespace memscope {
namespace mapped_growth_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kA = 101;
constexpr ProcessId kChild{.pid = 20, .start_ns = 2};

RangeEvent of(ProcessId id, RangeEvent e, std::uint32_t generation = 0, std::uint64_t lost = 0) {
    e.id = id;
    e.generation = generation;
    e.lost = lost;
    return e;
}
RangeEvent forked(ProcessId id, pid_t parent) {
    RangeEvent e = of(id, event(MS_RANGE_FORK, {}));
    e.parent = parent;
    return e;
}
std::uint64_t grown(const MappedGrowth& growth, ProcessId id) {
    const auto process = growth.find(id);
    return process ? process->ranges.totals().grown().n / kUnit : 0;
}
// A process that is followed from its fork on.
MappedGrowth born() {
    MappedGrowth growth;
    growth.apply(of(kProcess, event(MS_RANGE_EXEC, {}), 1));
    growth.apply(of(kProcess, mapped(units(0, 8), kA), 1));
    return growth;
}

TEST(MappedGrowth, AnExistingProcessStartsWithItsMappingsAsBefore) {
    MappedGrowth growth;
    growth.track(kProcess, 0);
    EXPECT_THAT(growth.to_be_read(), ElementsAre(kProcess));
    growth.apply(mapped(units(0, 2), kA));  // between the two reads: its event came through the ring buffer
    const FoundRange found[] = {{units(0, 8), RangeKind::anonymous, kWritable}};
    growth.reconcile(kProcess, found, 1'000'000'000);
    EXPECT_THAT(growth.to_be_read(), IsEmpty());
    EXPECT_EQ(grown(growth, kProcess), 2U);
    EXPECT_EQ(growth.find(kProcess)->ranges.totals().before.n, 6 * kUnit);
    EXPECT_EQ(growth.find(kProcess)->reconciled, 0U);
}

TEST(MappedGrowth, AChildStartsWithoutGrowthAndItsParentKeepsItsOwn) {
    MappedGrowth growth = born();
    growth.apply(forked(kChild, kProcess.pid));
    EXPECT_THAT(growth.to_be_read(), IsEmpty());
    EXPECT_EQ(grown(growth, kChild), 0U);
    growth.apply(of(kChild, event(MS_RANGE_UNMAP, units(0, 4))));
    growth.apply(of(kChild, mapped(units(20, 23), kA)));
    growth.apply(of(kProcess, event(MS_RANGE_UNMAP, units(0, 1)), 1));
    EXPECT_EQ(grown(growth, kChild), 3U);
    EXPECT_EQ(growth.find(kChild)->ranges.totals().before.n, 4 * kUnit);
    EXPECT_EQ(grown(growth, kProcess), 7U);
}

TEST(MappedGrowth, EndsWithAnExecAndWithTheProcess) {
    MappedGrowth growth = born();
    growth.apply(of(kProcess, event(MS_RANGE_EXEC, {}), 2));
    EXPECT_EQ(grown(growth, kProcess), 0U);
    EXPECT_THAT(growth.to_be_read(), IsEmpty());
    growth.apply(of(kProcess, mapped(units(0, 3), kA), 2));
    EXPECT_EQ(grown(growth, kProcess), 3U);
    growth.apply(of(kProcess, event(MS_RANGE_END, {}), 2));
    EXPECT_FALSE(growth.find(kProcess));
}

TEST(MappedGrowth, TheNextEventRevealsALostExec) {
    MappedGrowth growth = born();
    growth.apply(of(kProcess, mapped(units(50, 52), kA), 2, 1));
    EXPECT_EQ(grown(growth, kProcess), 2U);
    EXPECT_THAT(growth.to_be_read(), ElementsAre(kProcess));
    EXPECT_EQ(growth.find(kProcess)->reconciled, 1U);
}

TEST(MappedGrowth, LostEventsCauseAReadAndMarkTheProcess) {
    MappedGrowth growth = born();
    growth.apply(of(kProcess, mapped(units(10, 12), kA), 1, 5));
    EXPECT_THAT(growth.to_be_read(), ElementsAre(kProcess));
    const FoundRange found[] = {{units(4, 12), RangeKind::anonymous, kWritable}};
    growth.reconcile(kProcess, found, 1'000'000'000);
    EXPECT_THAT(growth.to_be_read(), IsEmpty());
    EXPECT_EQ(growth.find(kProcess)->reconciled, 1U);
    EXPECT_EQ(units_at(growth.find(kProcess)->ranges, kA), 4U + 2U);
    EXPECT_EQ(growth.find(kProcess)->ranges.totals().unknown.n, 2 * kUnit);
    growth.track(kProcess, 5);
    EXPECT_THAT(growth.to_be_read(), IsEmpty());
    growth.track(kProcess, 6);  // lost events, and no later event
    EXPECT_THAT(growth.to_be_read(), ElementsAre(kProcess));
}

TEST(MappedGrowth, CallsDuringAReadCauseABoundedNumberOfFurtherReads) {
    MappedGrowth growth = born();
    growth.apply(of(kProcess, event(MS_RANGE_UNMAP, units(0, 8)), 1, 1));
    const FoundRange found[] = {{units(0, 8), RangeKind::anonymous, kWritable}};  // not removed yet
    growth.reconcile(kProcess, found, 2000);
    EXPECT_THAT(growth.to_be_read(), ElementsAre(kProcess));
    growth.reconcile(kProcess, {}, 1'000'000'000);
    EXPECT_THAT(growth.to_be_read(), IsEmpty());
    EXPECT_EQ(grown(growth, kProcess), 0U);
    growth.apply(of(kProcess, remap(MS_RANGE_MOVE_BEGINS, units(0, 8), {}), 1, 2));
    for (int i = 0; i < 7; ++i) growth.reconcile(kProcess, found, 1'000'000'000);
    EXPECT_THAT(growth.to_be_read(), ElementsAre(kProcess));
    growth.reconcile(kProcess, found, 1'000'000'000);
    EXPECT_THAT(growth.to_be_read(), IsEmpty());
}

TEST(MappedGrowth, TheChildOfAnUnknownProcessIsReadItself) {
    MappedGrowth growth;
    growth.apply(forked(kChild, 77));
    EXPECT_THAT(growth.to_be_read(), ElementsAre(kChild));
}

// Thousands of short processes can end in one tick.
TEST(MappedGrowth, KeepsTheEndedProcessesWithTheMostGrowth) {
    MappedGrowth growth = born();
    const auto end_others = [&](pid_t first) {
        for (pid_t pid = first; pid < first + static_cast<pid_t>(2 * MappedGrowth::kMostEnded); ++pid) {
            const ProcessId id{.pid = pid, .start_ns = 3};
            growth.apply(of(id, event(MS_RANGE_EXEC, {}), 1));
            if (pid % 2 == 0) growth.apply(of(id, mapped(units(0, 1), kA), 1));
            growth.end(id);
        }
    };
    end_others(1000);
    EXPECT_FALSE(growth.find_ended({.pid = 1001, .start_ns = 3})) << "a process that held nothing";
    growth.end(kProcess);
    end_others(10000);
    ASSERT_TRUE(growth.find_ended(kProcess));
    EXPECT_EQ(growth.find_ended(kProcess)->ranges.totals().grown().n / kUnit, 8U);
    growth.forget_ended();
    EXPECT_FALSE(growth.find_ended(kProcess));
}

}  // namespace mapped_growth_test
}  // namespace memscope
