#include "analysis/heap/object_growth.h"

#include <gmock/gmock.h>

#include "support/fake_objects.h"

namespace memscope {
namespace object_growth_test {

using test::holder;
using testing::ElementsAre;

HeapCensus census(double time, std::vector<Holder> holders) {
    return test::with_objects(time, Bytes{1 << 30}, {.holders = std::move(holders)});
}

std::vector<std::string> paths(const ObjectGrowth& growth) {
    std::vector<std::string> all;
    for (const HolderGrowth& each : growth.holders) all.push_back(each.now->path);
    return all;
}

TEST(ObjectGrowth, WithoutAnEarlierCensusHoldersAreOrderedBySizeAndNoChangeIsKnown) {
    const HeapCensus now = census(10, {holder("a", "list", 1, 10), holder("b", "dict", 2, 500)});
    const ObjectGrowth growth = object_growth(now, nullptr);
    EXPECT_THAT(paths(growth), ElementsAre("b", "a"));
    EXPECT_EQ(growth.holders[0].length_change, std::nullopt);
    EXPECT_EQ(growth.holders[0].retained_change, std::nullopt);
    EXPECT_EQ(growth.holders[0].own(), 0);
}

TEST(ObjectGrowth, TheContainerThatGrewComesBeforeTheContainersAroundIt) {
    const HeapCensus before =
        census(10, {holder("m", "dict", 50, 9000), holder("m.stats", "list", 2, 2000, 1),
                    holder("m.stats[1]['losses']", "deque", 100, 1000, 2), holder("m.idle", "list", 5000, 5000, 1)});
    const HeapCensus now =
        census(20, {holder("m", "dict", 50, 99000), holder("m.stats", "list", 2, 92000, 1),
                    holder("m.stats[1]['losses']", "deque", 3000, 91000, 2), holder("m.idle", "list", 5000, 5000, 1)});
    const ObjectGrowth growth = object_growth(now, &before);
    EXPECT_THAT(paths(growth), ElementsAre("m.stats[1]['losses']", "m", "m.stats", "m.idle"));
    EXPECT_EQ(growth.holders[0].length_change, 2900);
    EXPECT_EQ(growth.holders[0].retained_change, 90000);
    EXPECT_EQ(growth.holders[0].own(), 90000);
    EXPECT_EQ(growth.holders[1].retained_change, 90000) << "the change has everything inside";
    EXPECT_EQ(growth.holders[1].own(), 0);
    EXPECT_EQ(growth.holders[3].length_change, 0) << "a list that does not change is not said to grow";
}

TEST(ObjectGrowth, PagesThatAForkedProcessCopiesAreNoGrowthOfContainersWithoutMoreItems) {
    constexpr std::uint64_t kMiB = 1 << 20;
    const auto forked = [](double time, std::uint64_t inherited, std::vector<Holder> holders) {
        return test::with_objects(time, Bytes{1 << 30}, {.holders = std::move(holders), .inherited = Bytes{inherited}});
    };
    const std::vector<Holder> first{holder("m.dataset", "list", 9000, kMiB), holder("m.seen", "list", 10, kMiB)};
    const std::vector<Holder> second{holder("m.dataset", "list", 9000, 50 * kMiB),
                                     holder("m.seen", "list", 30, 2 * kMiB)};
    const HeapCensus before = forked(10, 100 * kMiB, first), copied = forked(20, 51 * kMiB, second);
    const ObjectGrowth growth = object_growth(copied, &before);
    EXPECT_THAT(paths(growth), ElementsAre("m.seen", "m.dataset"));
    EXPECT_EQ(growth.holders[0].own(), static_cast<std::int64_t>(kMiB));
    EXPECT_EQ(growth.holders[1].own(), 0);
    EXPECT_EQ(growth.holders[1].retained_change, static_cast<std::int64_t>(49 * kMiB));
    const HeapCensus not_copied = forked(20, 100 * kMiB, second);
    EXPECT_THAT(paths(object_growth(not_copied, &before)), ElementsAre("m.dataset", "m.seen"));
}

TEST(ObjectGrowth, NewContainersInsideAreItemsThatWereAdded) {
    const HeapCensus before = census(10, {holder("m.boxes", "list", 1, 100), holder("m.boxes[0]", "list", 4, 50, 1)});
    const HeapCensus now =
        census(20, {holder("m.boxes", "list", 3, 300), holder("m.boxes[0]", "list", 4, 50, 1),
                    holder("m.boxes[1]", "list", 4, 100, 1), holder("m.boxes[2]", "list", 4, 90, 1)});
    const ObjectGrowth growth = object_growth(now, &before);
    EXPECT_THAT(paths(growth), ElementsAre("m.boxes", "m.boxes[1]", "m.boxes[2]", "m.boxes[0]"));
    EXPECT_EQ(growth.holders[0].own(), 200);
    EXPECT_TRUE(growth.holders[1].is_new);
    EXPECT_TRUE(growth.holders[1].is_item) << "it does not count twice";
    EXPECT_FALSE(growth.holders[0].is_item);
}

TEST(ObjectGrowth, AContainerThatGotNoItemsDidNotGrowItself) {
    const HeapCensus before = census(10, {holder("m", "dict", 5, 100)});
    const HeapCensus now = census(20, {holder("m", "dict", 5, 900), holder("m.outputs", "list", 8, 800, 1)});
    const ObjectGrowth growth = object_growth(now, &before);
    EXPECT_THAT(paths(growth), ElementsAre("m.outputs", "m")) << "the list was empty before";
    EXPECT_EQ(growth.holders[0].own(), 800);
    EXPECT_EQ(growth.holders[1].own(), 0);
}

TEST(ObjectGrowth, ANewPathHasGrownFromZeroOnlyIfTheEarlierCensusHadEverything) {
    HeapCensus before = census(10, {holder("a", "list", 1, 10)});
    const HeapCensus now = census(20, {holder("a", "list", 1, 10), holder("new", "dict", 7, 70)});
    EXPECT_EQ(object_growth(now, &before).holders[0].length_change, 7);
    before.incomplete[HeapGap::unknown_type] = 3;
    EXPECT_EQ(object_growth(now, &before).holders[0].length_change, 7) << "its container is known";
    before.incomplete[HeapGap::torn] = 1;
    const ObjectGrowth unsure = object_growth(now, &before);
    for (const HolderGrowth& each : unsure.holders)
        EXPECT_EQ(each.length_change.has_value(), each.now->path == "a") << each.now->path;
}

TEST(ObjectGrowth, RetainedBytesOfACensusThatRanOutOfTimeAreNotCompared) {
    HeapCensus before = census(10, {holder("a", "list", 1, 10), holder("b", "list", 5, 900)});
    before.incomplete[HeapGap::time_limit] = 1;
    const HeapCensus now = census(20, {holder("a", "list", 4, 5000), holder("b", "list", 5, 9000)});
    const ObjectGrowth growth = object_growth(now, &before);
    EXPECT_THAT(paths(growth), ElementsAre("a", "b")) << "the number of items is known";
    EXPECT_EQ(growth.holders[0].length_change, 3);
    EXPECT_EQ(growth.holders[0].retained_change, std::nullopt);
    EXPECT_EQ(growth.holders[0].own(), 0);
}

TEST(ObjectGrowth, APathOfASampledCensusIsNotNew) {
    HeapCensus before = test::with_objects(10, Bytes{1}, {.holders = {holder("a", "list", 1, 10)}, .sampled = 0.5});
    const HeapCensus now = census(20, {holder("new", "dict", 7, 70)});
    EXPECT_EQ(object_growth(now, &before).holders[0].length_change, std::nullopt);
}

// The reader lists the largest containers. An empty list is not among them.
TEST(ObjectGrowth, AContainerMissingFromATruncatedListHasALowerBound) {
    std::vector<Holder> many;
    for (int i = 0; i < 8000; ++i)
        many.push_back(holder("h" + std::to_string(i), "list", 1, i < 4000 ? 500 + static_cast<std::uint64_t>(i) : 40));
    const HeapCensus before = census(10, many);
    many.push_back(holder("m.outputs", "list", 100, 1'000'000));
    const HeapCensus now = census(20, many);
    const HolderGrowth first = object_growth(now, &before).holders[0];
    EXPECT_EQ(first.now->path, "m.outputs");
    EXPECT_EQ(first.own_host, 1'000'000 - 500) << "a lower bound";
    EXPECT_EQ(first.retained_change, std::nullopt) << "the change itself is not known";
}

TEST(ObjectGrowth, TheLineOfARunningFunctionMayChange) {
    const HeapCensus before = census(10, {holder("run (train.py:88) history", "list", 10, 100)});
    const HeapCensus now = census(20, {holder("run (train.py:91) history", "list", 15, 150)});
    EXPECT_EQ(object_growth(now, &before).holders[0].length_change, 5);
    EXPECT_EQ(path_without_lines("run (train.py:88) history[3]['a:1']"), "run (train.py) history[3]['a:1']");
    EXPECT_EQ(path_without_lines("a:) b:12"), "a:) b:12");
}

TEST(ObjectGrowth, ContainersWithTheSamePathCannotBeDistinguished) {
    const HeapCensus before = census(10, {holder("m.CACHE[…]", "list", 1, 10), holder("m.CACHE[…]", "list", 2, 20)});
    const HeapCensus now = census(20, {holder("m.CACHE[…]", "list", 5, 50), holder("m.CACHE[…]", "dict", 6, 60)});
    const ObjectGrowth growth = object_growth(now, &before);
    EXPECT_EQ(growth.holders[0].now->type, "dict") << "another type is another container";
    EXPECT_EQ(growth.holders[0].length_change, 6);
    EXPECT_EQ(growth.holders[1].length_change, std::nullopt);
}

Holder at(std::uint64_t address, Holder holder) {
    holder.address = address;
    return holder;
}

TEST(ObjectGrowth, HoldersAreMatchedByAddressWhateverTheirPathIs) {
    const HeapCensus before =
        census(10, {at(1, holder("run (train.py:88) self.log", "list", 10, 100)),
                    at(2, holder("m.CACHE[…]", "list", 2, 20)), at(3, holder("m.CACHE[…]", "list", 3, 30))});
    const HeapCensus now =
        census(20, {at(1, holder("m.trainer.log", "list", 15, 150)), at(2, holder("m.CACHE[…]", "list", 2, 20)),
                    at(3, holder("m.CACHE[…]", "list", 9, 90)), at(4, holder("m.CACHE[…]", "dict", 9, 90))});
    const ObjectGrowth growth = object_growth(now, &before);
    EXPECT_THAT(paths(growth), ElementsAre("m.CACHE[…]", "m.CACHE[…]", "m.trainer.log", "m.CACHE[…]"));
    EXPECT_TRUE(growth.holders[0].is_new) << "another type at another address";
    EXPECT_EQ(growth.holders[1].length_change, 6);
    EXPECT_EQ(growth.holders[2].length_change, 5);
    EXPECT_EQ(growth.holders[3].length_change, 0);
}

TEST(ObjectGrowth, AnArrayThatIsReplacedByALongerOneIsMatchedByItsPath) {
    const HeapCensus before = census(10, {at(1, holder("f (a.py:5) preds", "numpy.ndarray", 0, 1000))});
    const HeapCensus now = census(20, {at(9, holder("f (a.py:6) preds", "numpy.ndarray", 0, 5000))});
    EXPECT_EQ(object_growth(now, &before).holders[0].own(), 4000);
}

TEST(ObjectGrowth, WhatTheEarlierCensusLacksIsKnownFromALaterOne) {
    HeapCensus before = test::with_objects(10, Bytes{10000}, {.holders = {at(1, holder("a", "list", 1, 10))}});
    before.incomplete[HeapGap::torn] = 2;
    const HeapCensus between = census(15, {at(1, holder("a", "list", 1, 10)), at(2, holder("b", "list", 2, 200))});
    const HeapCensus now = census(20, {at(1, holder("a", "list", 5, 50)), at(2, holder("b", "list", 8, 800))});
    const ObjectGrowth unknown = object_growth(now, &before);
    EXPECT_THAT(paths(unknown), ElementsAre("a", "b"));
    EXPECT_TRUE(is_unknown(unknown.holders[1])) << "for itself alone";
    const ObjectGrowth growth = object_growth(now, &before, &between);
    EXPECT_THAT(paths(growth), ElementsAre("b", "a"));
    EXPECT_EQ(growth.holders[0].own(), 600) << "at least";
    EXPECT_EQ(growth.holders[0].retained_change, std::nullopt);
}

// A trainer did not exist yet when its imports were read.
TEST(ObjectGrowth, AListThatTheEarlierCensusLacksGrewByItsNewItems) {
    const HeapCensus before = test::with_objects(10, Bytes{10000}, {.holders = {at(9, holder("m", "dict", 1, 10))}});
    const HeapCensus between =
        census(15, {at(1, holder("trainer", "Trainer", 0, 300)), at(2, holder("trainer.history", "list", 2, 200, 1)),
                    at(3, holder("trainer.history[0]", "dict", 6, 100, 2))});
    const HeapCensus now =
        census(20, {at(1, holder("trainer", "Trainer", 0, 900)), at(2, holder("trainer.history", "list", 8, 800, 1)),
                    at(3, holder("trainer.history[0]", "dict", 6, 100, 2)),
                    at(4, holder("trainer.history[1]", "dict", 6, 100, 2))});
    HeapCensus torn = before;
    torn.incomplete[HeapGap::torn] = 2;
    const ObjectGrowth growth = object_growth(now, &torn, &between);
    EXPECT_EQ(growth.holders[0].now->path, "trainer.history");
    EXPECT_EQ(growth.holders[0].own(), 600) << "its new items are part of it";
    EXPECT_EQ(growth.holders[1].own(), 0) << "the list is all of what the trainer got";
}

TEST(ObjectGrowth, AHolderCannotHaveBeenLargerThanTheWholeProcess) {
    HeapCensus before = test::with_objects(10, Bytes{1000}, {.holders = {at(1, holder("a", "list", 1, 10))}});
    before.incomplete[HeapGap::torn] = 2;
    const HeapCensus now = census(20, {at(1, holder("a", "list", 1, 10)), at(2, holder("m.log", "list", 70, 7000))});
    EXPECT_EQ(object_growth(now, &before).holders[0].own(), 6000);
    EXPECT_EQ(object_growth(now, &before).holders[0].now->path, "m.log");
    // An array that two earlier censuses do not have may belong to a variable that was replaced during the read.
    Holder array = at(2, holder("f (a.py:5) logits", "numpy.ndarray", 0, 7000));
    array.kind = HolderKind::array;
    const HeapCensus between = census(15, {at(1, holder("a", "list", 1, 10))}), fleeting = census(20, {array});
    EXPECT_EQ(object_growth(fleeting, &before).holders[0].own(), 6000);
    EXPECT_EQ(object_growth(fleeting, &before, &between).holders[0].own(), 0);
}

TEST(ObjectGrowth, AContainerOfTheSameLengthGrewOnlyIfBothCensusesAreComplete) {
    const HeapCensus before = census(10, {at(1, holder("opt.state", "dict", 6, 100))});
    HeapCensus now = census(20, {at(1, holder("opt.state", "dict", 6, 9000))});
    EXPECT_EQ(object_growth(now, &before).holders[0].own(), 8900);
    now.incomplete[HeapGap::torn] = 1;
    EXPECT_EQ(object_growth(now, &before).holders[0].own(), 0);
    EXPECT_EQ(object_growth(now, &before).holders[0].retained_change, 8900);
}

TEST(ObjectGrowth, GpuMemoryCountsAsGrowth) {
    HeapCensus before = census(10, {holder("a", "list", 1, 10), holder("b", "list", 1, 10)});
    Holder on_gpu = holder("b", "list", 3, 10);
    on_gpu.retained_device = Bytes{1 << 20};
    const HeapCensus now = census(20, {holder("a", "list", 2, 1000), on_gpu});
    const ObjectGrowth growth = object_growth(now, &before);
    EXPECT_THAT(paths(growth), ElementsAre("b", "a"));
    EXPECT_EQ(growth.holders[0].device_change, 1 << 20);
    EXPECT_EQ(growth.holders[0].own_host, 0);
}

TEST(ObjectGrowth, MatchesTypesTensorsAndArraysByTheirDescription) {
    ObjectCensus before;
    before.types = {{"tuple", 10, Bytes{100}}};
    before.tensors = {{.device = "cpu", .dtype = "float32", .shape = {2, 3}, .count = 4, .bytes = Bytes{96}}};
    before.tensor_totals = {{"cpu", 4, 4, Bytes{96}}};
    before.arrays = {{.dtype = "int64", .shape = {5}, .count = 1, .bytes = Bytes{40}}};
    ObjectCensus after = before;
    after.types = {{"tuple", 15, Bytes{150}}, {"new.Type", 2, Bytes{20}}};
    after.tensors.push_back(
        {.device = "cpu", .dtype = "float32", .shape = {2, 3}, .only_native = true, .count = 1, .bytes = Bytes{24}});
    after.tensors[0].count = 3;
    after.arrays[0].bytes = Bytes{80};
    const HeapCensus first = test::with_objects(10, Bytes{1}, before), second = test::with_objects(20, Bytes{1}, after);
    const ObjectGrowth growth = object_growth(second, &first);
    EXPECT_EQ(growth.types[0].count_change, 5);
    EXPECT_EQ(growth.types[1].count_change, 2);
    EXPECT_EQ(growth.tensors[0].count_change, -1);
    EXPECT_EQ(growth.tensors[1].count_change, 1) << "held by C++ is another group";
    EXPECT_EQ(growth.tensor_totals[0].bytes_change, 0);
    EXPECT_EQ(growth.arrays[0].bytes_change, 40);
}

TEST(ObjectGrowth, RefusedObjectsHaveNoGrowth) {
    const HeapCensus refused = test::with_objects(10, Bytes{1}, {.refusal = ObjectsRefusal::version});
    const HeapCensus now = census(20, {holder("a", "list", 1, 10)});
    EXPECT_TRUE(object_growth(refused, &now).holders.empty());
    EXPECT_EQ(object_growth(now, &refused).holders[0].length_change, std::nullopt);
}

TEST(ObjectGrowth, AHostileCensusWithCyclesIsHarmless) {
    const HeapCensus before = census(10, {holder("a", "list", 1, 10, 2), holder("b", "list", 1, 10, 1)});
    const HeapCensus now = census(20, {holder("a", "list", 2, 20, 2), holder("b", "list", 2, 20, 1),
                                       holder("c", "list", 2, 20, 99), holder("d", "list", 2, UINT64_MAX, 4)});
    EXPECT_EQ(object_growth(now, &before).holders.size(), 4U);
}

TEST(HolderType, MatchesWithAndWithoutTheModule) {
    EXPECT_TRUE(is_type("torch.Tensor", "Tensor"));
    EXPECT_TRUE(is_type("torch.Tensor", "torch.Tensor"));
    EXPECT_FALSE(is_type("torch.MyTensor", "Tensor"));
    EXPECT_FALSE(is_type("list", ""));
    EXPECT_TRUE(holds_type(holder("a", "list", 1, 1, 0, "torch.Tensor cuda:0 float32[1,2]"), "Tensor"));
    EXPECT_TRUE(holds_type(holder("a", "collections.deque", 1, 1), "deque"));
    EXPECT_FALSE(holds_type(holder("a", "list", 1, 1, 0, "tuple"), "float32[1,2]"));
}

}  // namespace object_growth_test
}  // namespace memscope
