#include <gmock/gmock.h>

#include "unit/model/growth/ranges.h"

namespace memscope {
namespace range_map_test {

using testing::ElementsAre;

constexpr std::uint64_t kA = 101;
constexpr std::uint64_t kB = 102;

RangeMap after(std::initializer_list<RangeEvent> events) {
    RangeMap map;
    for (const RangeEvent& e : events) EXPECT_TRUE(map.apply(e));
    return map;
}

TEST(RangeMap, APartThatIsUnmappedIsTakenOffWhereItWasMapped) {
    const RangeMap map =
        after({mapped(units(0, 10), kA), mapped(units(10, 20), kB), event(MS_RANGE_UNMAP, units(8, 13))});
    EXPECT_EQ(units_at(map, kA), 8U);
    EXPECT_EQ(units_at(map, kB), 7U);
}

TEST(RangeMap, AMappingOverAnotherReplacesIt) {
    const RangeMap map = after({mapped(units(0, 10), kA), mapped(units(3, 5), kB), mapped(units(7, 8), kB, kNoAccess)});
    EXPECT_EQ(units_at(map, kA), 7U);
    EXPECT_EQ(units_at(map, kB), 2U);
    EXPECT_EQ(map.totals().reserved.n, kUnit);
    EXPECT_EQ(map.size(), 5U);
}

TEST(RangeMap, NeighboursOfTheSameStackAreOne) {
    RangeMap map;
    for (std::uint64_t i = 0; i < 1000; ++i) map.apply(mapped(units(i, i + 1), kA));
    EXPECT_EQ(map.size(), 1U);
    map.apply(event(MS_RANGE_UNMAP, units(500, 501)));
    EXPECT_EQ(map.size(), 2U);
    map.apply(mapped(units(500, 501), kA));
    EXPECT_EQ(map.size(), 1U);
    EXPECT_EQ(units_at(map, kA), 1000U);
}

TEST(RangeMap, AReservationCountsWhereItBecomesWritableAndFilesNever) {
    RangeMap map = after({mapped(units(0, 10), kA, kNoAccess), mapped(units(20, 30), kA, kReadable, RangeKind::file),
                          protect(units(0, 2), kWritable, kB), protect(units(20, 30), kWritable, kB)});
    EXPECT_EQ(units_at(map, kA), 0U);
    EXPECT_EQ(units_at(map, kB), 2U);
    EXPECT_EQ(map.totals().reserved.n, 8 * kUnit);
    EXPECT_EQ(map.totals().file.n, 10 * kUnit);
    map.apply(protect(units(0, 1), kNoAccess, 0));
    EXPECT_EQ(units_at(map, kB), 1U);
    map.apply(protect(units(0, 1), kWritable, kA));  // a range keeps its owner
    EXPECT_EQ(units_at(map, kB), 2U);
}

TEST(RangeMap, MeasuresMemoryThatAStackMapsAndUnmapsAgainAndAgain) {
    RangeMap map;
    map.apply(mapped(units(0, 4), kB));
    for (std::uint64_t second = 1; second <= 8; ++second) {
        map.apply(mapped(units(100, 110), kA));
        map.apply(mapped(units(10 * second, 10 * second + 1), kB));
        RangeEvent unmapped = event(MS_RANGE_UNMAP, units(100, 110));
        unmapped.time_ns = second * 1'000'000'000;
        map.apply(unmapped);
    }
    map.apply(mapped(units(100, 110), kA));
    EXPECT_EQ(units_at(map, kA), 10U);
    EXPECT_EQ(map.passing(kA, 8'500'000'000), static_cast<std::int64_t>(10 * kUnit));
    EXPECT_EQ(map.passing(kB, 8'500'000'000), 0);
    EXPECT_EQ(map.passing(kA, 100'000'000'000), 0);
}

TEST(RangeMap, KnowsStacksThatMapPiecesOfTheSizeOfAnArenaOnly) {
    RangeMap map = after({mapped(units(0, 16), kA), mapped(units(16, 32), kA), mapped(units(40, 56), kB)});
    EXPECT_TRUE(map.is_arena_sized(kA));
    map.apply(mapped(units(60, 77), kB));
    EXPECT_FALSE(map.is_arena_sized(kB));
    EXPECT_FALSE(map.is_arena_sized(103));
    map.inherit();
    EXPECT_FALSE(map.is_arena_sized(kA));
}

TEST(RangeMap, SharedMemoryIsGrowthOfItsOwnKind) {
    const RangeMap map = after({mapped(units(0, 3), kA, kWritable, RangeKind::shared), mapped(units(3, 7), kA),
                                mapped(units(8, 9), kA, kReadable, RangeKind::shared),
                                mapped(units(10, 11), kA, kWritable, RangeKind::other)});
    EXPECT_EQ(map.totals().stacks.at(kA), (MappedAtStack{.anonymous = {4 * kUnit}, .shared = {3 * kUnit}}));
    EXPECT_EQ(map.totals().unwritable.n, kUnit);
    EXPECT_EQ(map.totals().device.n, kUnit);
}

TEST(RangeMap, ACallThatFailedIsUndoneWhereNothingElseHasComeSince) {
    RangeMap map = after({mapped(units(0, 10), kA), event(MS_RANGE_UNMAP, units(2, 8)),
                          by_thread(mapped(units(4, 5), kB), 11), event(MS_RANGE_UNMAP_FAILED, units(2, 8))});
    EXPECT_EQ(units_at(map, kA), 9U);
    EXPECT_EQ(units_at(map, kB), 1U);
    EXPECT_FALSE(map.apply(event(MS_RANGE_UNMAP_FAILED, units(2, 8)))) << "once is enough";
}

TEST(RangeMap, AFailureOfACallWithoutItsEventUndoesNothing) {
    RangeMap map = after({mapped(units(0, 10), kA), event(MS_RANGE_UNMAP, units(2, 8))});
    EXPECT_FALSE(map.apply(event(MS_RANGE_UNMAP_FAILED, units(3, 8))));
    EXPECT_FALSE(map.apply(by_thread(event(MS_RANGE_UNMAP_FAILED, units(2, 8)), 11)));
    EXPECT_EQ(units_at(map, kA), 4U);
}

TEST(RangeMap, AMoveCarriesItsStackAndGrowthIsTheMoversOwn) {
    const RangeMap map =
        after({mapped(units(0, 4), kA), remap(MS_RANGE_MOVE_BEGINS, units(0, 4), {}),
               by_thread(mapped(units(0, 4), kB), 11),  // another thread gets the same addresses at once
               remap(MS_RANGE_MOVED, units(0, 4), units(20, 30), kB)});
    EXPECT_EQ(units_at(map, kA), 4U);
    EXPECT_EQ(units_at(map, kB), 4U + 6U);
    EXPECT_THAT(map.ranges(), ElementsAre(testing::Field(&RangePiece::range, units(0, 4)),
                                          testing::Field(&RangePiece::range, units(20, 24)),
                                          testing::Field(&RangePiece::range, units(24, 30))));
}

TEST(RangeMap, AMoveMayShrinkAndLandOnSomethingElse) {
    const RangeMap map =
        after({mapped(units(0, 8), kA), mapped(units(20, 30), kB), remap(MS_RANGE_MOVE_BEGINS, units(0, 8), {}),
               remap(MS_RANGE_MOVED, units(0, 8), units(22, 25), kB)});
    EXPECT_EQ(units_at(map, kA), 3U);
    EXPECT_EQ(units_at(map, kB), 7U);
}

TEST(RangeMap, AMoveThatFailsLeavesAllInPlace) {
    const RangeMap map = after({mapped(units(0, 8), kA), remap(MS_RANGE_MOVE_BEGINS, units(0, 8), {}),
                                remap(MS_RANGE_MOVE_FAILED, units(0, 8), {})});
    EXPECT_EQ(units_at(map, kA), 8U);
    RangeMap untold;
    EXPECT_FALSE(untold.apply(remap(MS_RANGE_MOVED, units(0, 8), units(8, 16), kA)));
}

TEST(RangeMap, ASmallUnknownRangeIsNewIfItGrows) {
    const AddressRange small{0, kUnit / 2};
    const RangeMap map = after({remap(MS_RANGE_MOVE_BEGINS, small, {}), remap(MS_RANGE_MOVED, small, units(4, 8), kA)});
    EXPECT_EQ(units_at(map, kA), 4U);
    const RangeMap large =
        after({remap(MS_RANGE_MOVE_BEGINS, units(0, 2), {}), remap(MS_RANGE_MOVED, units(0, 2), units(4, 8), kA)});
    EXPECT_EQ(units_at(large, kA), 2U) << "memory that was mapped before is not growth";
}

TEST(RangeMap, ACopyHasTheKindOfItsOriginal) {
    const RangeMap map = after({mapped(units(0, 4), kA), mapped(units(4, 6), kA, kWritable, RangeKind::file),
                                remap(MS_RANGE_COPIED, units(0, 4), units(10, 14), kB),
                                remap(MS_RANGE_COPIED, {4 * kUnit, 4 * kUnit}, units(20, 22), kB)});
    EXPECT_EQ(units_at(map, kA), 4U);
    EXPECT_EQ(units_at(map, kB), 4U);
    EXPECT_EQ(map.totals().file.n, 4 * kUnit);
}

TEST(RangeMap, UnmappingUnknownRangesChangesNothing) {
    const RangeMap map = after({event(MS_RANGE_UNMAP, units(0, 100)), protect(units(0, 100), kWritable, kA)});
    EXPECT_EQ(map.totals().grown().n, 0U);
}

TEST(RangeMap, AChildInheritsReservationsAndNoGrowth) {
    RangeMap map = after({mapped(units(0, 4), kA), mapped(units(4, 8), kA, kNoAccess)});
    map.inherit();
    EXPECT_EQ(map.totals().grown().n, 0U);
    EXPECT_EQ(map.totals().before.n, 4 * kUnit);
    map.apply(protect(units(4, 6), kWritable, kB));
    map.apply(protect(units(0, 4), kNoAccess, kB));
    map.apply(protect(units(0, 4), kWritable, kB));
    EXPECT_EQ(units_at(map, kB), 2U);
}

TEST(RangeMap, TooManyPiecesAreLeftOutAndCounted) {
    RangeMap map(4);
    for (std::uint64_t i = 0; i < 10; ++i) map.apply(mapped(units(2 * i, 2 * i + 1), i + 1));
    EXPECT_EQ(map.size(), 4U);
    EXPECT_EQ(map.left_out().n, 6 * kUnit);
    EXPECT_EQ(map.totals().grown().n, 4 * kUnit);
    RangeMap cut(1);
    cut.apply(mapped(units(0, 10), kA));
    cut.apply(event(MS_RANGE_UNMAP, units(2, 3)));
    EXPECT_EQ(cut.size(), 1U);
    EXPECT_EQ(units_at(cut, kA), 2U);
    EXPECT_EQ(cut.left_out().n, 8 * kUnit) << "including the unmapped unit";
}

TEST(RangeMap, SystemVMemoryIsFoundByReadingAndDetachedAsAWhole) {
    RangeMap map;
    RangeEvent attach = event(MS_RANGE_ATTACH, {10 * kUnit, 10 * kUnit}, kA);
    attach.access = kWritable;
    EXPECT_TRUE(map.apply(attach));
    const FoundRange found[] = {{units(10, 14), RangeKind::attached, kWritable},
                                {units(20, 24), RangeKind::anonymous, kWritable}};
    map.find_attached(found);
    EXPECT_EQ(map.size(), 1U);
    EXPECT_EQ(units_at(map, kA), 4U);
    map.apply(mapped(units(11, 12), kB));
    EXPECT_TRUE(map.apply(event(MS_RANGE_DETACH, {10 * kUnit, 10 * kUnit})));
    EXPECT_EQ(units_at(map, kA), 0U);
    EXPECT_EQ(units_at(map, kB), 1U);
    EXPECT_TRUE(map.apply(event(MS_RANGE_DETACH_FAILED, {10 * kUnit, 10 * kUnit})));
    EXPECT_EQ(units_at(map, kA), 3U);
}

TEST(RangeMap, TheEventOfACallOverridesAReadDuringTheCall) {
    const FoundRange found[] = {{units(0, 8), RangeKind::anonymous, kWritable}};
    RangeMap map = after({mapped(units(0, 8), kA), event(MS_RANGE_UNMAP, units(0, 8))});
    map.reconcile(found, RangeOwner::unknown);
    map.apply(event(MS_RANGE_UNMAP_FAILED, units(0, 8)));
    EXPECT_EQ(units_at(map, kA), 8U);
    RangeMap reserved = after({mapped(units(0, 8), kA, kNoAccess)});
    reserved.reconcile(found, RangeOwner::unknown);
    reserved.apply(protect(units(0, 8), kWritable, kB));
    EXPECT_EQ(units_at(reserved, kB), 8U);
    RangeMap moved = after({mapped(units(20, 28), kA)});
    moved.reconcile(found, RangeOwner::unknown);
    moved.apply(remap(MS_RANGE_MOVE_BEGINS, units(20, 28), {}));
    moved.apply(remap(MS_RANGE_MOVED, units(20, 28), units(0, 8), kB));
    EXPECT_EQ(moved.totals().unknown.n, 8 * kUnit) << "its stack is lost, but it still counts as growth";
}

TEST(RangeMap, ReadingItAgainKeepsTheStackOfEachRange) {
    RangeMap map = after({mapped(units(0, 10), kA), mapped(units(20, 30), kB, kWritable, RangeKind::shared),
                          mapped(units(40, 44), kA, kNoAccess)});
    const FoundRange found[] = {
        {units(2, 12), RangeKind::anonymous, kWritable},    // two pages removed, two pages added
        {units(20, 25), RangeKind::file, kWritable, true},  // a file in a tmpfs, which the path does not show
        {units(25, 30), RangeKind::anonymous, kWritable},   // another kind of mapping by now
        {units(40, 42), RangeKind::anonymous, kWritable},   // became writable without an event
        {units(42, 44), RangeKind::anonymous, kNoAccess},   // as it was
        {{50 * kUnit, 50 * kUnit + kUnit / 2}, RangeKind::anonymous, kWritable},  // too small to be sent
    };
    map.reconcile(found, RangeOwner::unknown);
    EXPECT_EQ(units_at(map, kA), 8U);
    EXPECT_EQ(map.totals().stacks.at(kB).shared.n, 5 * kUnit);
    EXPECT_EQ(map.totals().unknown.n, (2 + 5 + 2) * kUnit);
    EXPECT_EQ(map.totals().reserved.n, 2 * kUnit);
}

}  // namespace range_map_test
}  // namespace memscope
