#include "analysis/heap/holder_sentence.h"

#include <gmock/gmock.h>

#include "analysis/heap/held_objects.h"
#include "support/fake_objects.h"

namespace memscope {
namespace holder_sentence_test {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// val_outputs grows by 11,200 tuples and 812 MiB in 10 minutes, the process by `grown`.
HeldObjects leak(std::uint64_t grown_mib) {
    const std::uint64_t each = 812 * kMiB / 11200;
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, test::outputs_of(100, each));
    const HeapCensus now = test::with_objects(1600, Bytes{(500 + grown_mib) * kMiB}, test::outputs_of(11300, each));
    return *held_objects(now, &before);
}

TEST(HolderSentence, NamesTheContainerItsItemsItsSizeAndItsShareOfTheGrowth) {
    EXPECT_EQ(holder_sentence(leak(883)),
              "`__main__.trainer.val_outputs` (list) has grown by 11,200 tuples and 812 MiB in 10 min; 92 % of the "
              "growth.");
}

TEST(HolderSentence, IsEmptyWithoutAnEarlierCensus) {
    const HeapCensus now = test::with_objects(1600, Bytes{500 * kMiB}, test::outputs_of(11300, 1000));
    const auto held = held_objects(now, nullptr);
    EXPECT_EQ(holder_sentence(*held), "");
    EXPECT_EQ(holder_sentence(*held, HolderMemory::device), "");
    EXPECT_EQ(largest_holder_sentence(*held), "`__main__.trainer.val_outputs` (list with 11,300 tuples) holds 11 MiB.");
}

TEST(HolderSentence, SaysWhatElseGrewIfContainersExplainLessThanHalf) {
    const std::uint64_t each = 100 * kMiB / 1000;
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, test::outputs_of(100, each));
    HeapCensus now = test::with_objects(1600, Bytes{1500 * kMiB}, test::outputs_of(1100, each));
    now.part(HeapPart::malloc_live) = Bytes{600 * kMiB};
    now.part(HeapPart::malloc_free) = Bytes{900 * kMiB};
    EXPECT_EQ(
        holder_sentence(*held_objects(now, &before)),
        "`__main__.trainer.val_outputs` (list) has grown by 1,000 tuples and 100 MiB in 10 min; 10 % of the growth. "
        "Containers of Python explain 10 % of the growth of 1000 MiB; also grown: 900 MiB of freed memory that "
        "malloc keeps.");
}

TEST(HolderSentence, SaysThatNoContainerExplainsTheGrowth) {
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, test::outputs_of(100, 1000));
    HeapCensus now = test::with_objects(1600, Bytes{900 * kMiB}, test::outputs_of(100, 1000));
    now.part(HeapPart::malloc_live) = Bytes{500 * kMiB};
    now.part(HeapPart::mapped) = Bytes{400 * kMiB};
    EXPECT_EQ(holder_sentence(*held_objects(now, &before)),
              "No container of Python explains the growth of 400 MiB in 10 min: 400 MiB of large mappings of no known "
              "allocator.");
}

TEST(HolderSentence, DoesNotBlameOthersWhileTheChangeOfALargeContainerIsNotKnown) {
    HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, {.holders = {test::holder("a", "list", 1, 10)}});
    before.incomplete[HeapGap::torn] = 5;
    const HeapCensus now = test::with_objects(1600, Bytes{900 * kMiB}, test::outputs_of(300, kMiB));
    const std::string text = holder_sentence(*held_objects(now, &before));
    EXPECT_THAT(text, HasSubstr("holds 300 MiB, and whether it has grown is not known"));
    EXPECT_THAT(text, Not(HasSubstr("No container")));
    EXPECT_FALSE(names_holder(*held_objects(now, &before)));
}

TEST(HolderSentence, DoesNotBlameOthersWhileALargeContainerHasMoreItemsAndSeemsToHoldLess) {
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, test::outputs_of(400, kMiB));
    HeapCensus now = test::with_objects(1600, Bytes{900 * kMiB}, test::outputs_of(700, kMiB / 2));
    now.part(HeapPart::malloc_live) = Bytes{900 * kMiB};
    EXPECT_EQ(holder_sentence(*held_objects(now, &before)),
              "`__main__.trainer.val_outputs` (list) has 300 tuples more, and how much of the growth they hold is not "
              "known: the process changed while it was read, or other containers hold some of them, too.");
    EXPECT_FALSE(names_holder(*held_objects(now, &before)));
}

TEST(HolderSentence, DoesNotBlameOthersIfManySmallContainersGrewAndTheChangeOfALargeOneIsNotKnown) {
    const auto small = [](std::uint64_t bytes) {
        ObjectCensus objects;
        for (std::size_t i = 0; i < 2 * HeldObjects::kMostHolders; ++i)
            objects.holders.push_back(test::holder("cache" + std::to_string(i), "dict", bytes, bytes));
        return objects;
    };
    HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, small(10));
    before.incomplete[HeapGap::torn] = 5;  // the process imported modules
    ObjectCensus objects = small(1000);
    objects.holders.push_back(test::holder("__main__.outputs", "list", 300, 300 * kMiB));
    HeapCensus now = test::with_objects(1600, Bytes{900 * kMiB}, objects);
    now.part(HeapPart::malloc_live) = Bytes{900 * kMiB};
    const HeldObjects held = *held_objects(now, &before);
    EXPECT_EQ(
        holder_sentence(held),
        "`__main__.outputs` (list) holds 300 MiB, and whether it has grown is not known: the earlier census is not "
        "complete.");
    EXPECT_TRUE(held.others.empty()) << held.others[0].what;
    EXPECT_EQ(held.holders.size(), HeldObjects::kMostHolders);
}

TEST(HolderSentence, SaysAtLeastIfOnlyALowerBoundIsKnown) {
    HeldObjects held = leak(883);
    held.holders[0].retained_change.reset();
    held.holders[0].length_change.reset();
    EXPECT_THAT(holder_sentence(held), HasSubstr("has grown by at least 812 MiB in 10 min; 92 % of the growth."));
    EXPECT_TRUE(names_holder(held));
}

TEST(HolderSentence, ClaimsNothingIfNothingGrew) {
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, test::outputs_of(100, 1000));
    const HeapCensus now = test::with_objects(1600, Bytes{500 * kMiB}, test::outputs_of(100, 1000));
    EXPECT_EQ(holder_sentence(*held_objects(now, &before)), "");
}

TEST(HolderSentence, NamesGpuMemoryByVariable) {
    const auto activations = [](double time, std::uint64_t count) {
        Holder list = test::holder("self.activations['layer2']", "list", count, count * 100, 0,
                                   "torch.Tensor cuda:0 float32[1,128,512]");
        list.retained_device = Bytes{count * 256 * 1024};
        ObjectCensus objects{.holders = {list}};
        objects.tensor_totals = {{"cpu", 5, 5, Bytes{100}}, {"cuda:0", count, count, Bytes{count * 256 * 1024}}};
        return test::with_objects(time, Bytes{500 * kMiB}, objects);
    };
    const HeapCensus before = activations(1000, 1219), now = activations(1020, 2004);
    EXPECT_EQ(
        holder_sentence(*held_objects(now, &before), HolderMemory::device),
        "`self.activations['layer2']` (list) has grown by 785 tensors (cuda:0 float32[1,128,512]) and 196 MiB of GPU "
        "memory in 20 s; 100 % of the growth of tensors on GPUs.");
}

TEST(HolderSentence, SaysForHowManyWorkersItStands) {
    HeldObjects held = leak(883);
    held.alike = 7;
    EXPECT_THAT(holder_sentence(held), HasSubstr("7 other processes of this role have about the same size."));
}

TEST(HolderSentence, NamesAreMadePrintable) {
    HeldObjects held = leak(883);
    held.holders[0].holder.path = "a\x1b[31m\nb";
    EXPECT_THAT(holder_sentence(held), Not(HasSubstr("\x1b")));
    EXPECT_THAT(holder_sentence(held), Not(HasSubstr("\n")));
}

TEST(HeldObjects, AreBounded) {
    ObjectCensus objects;
    for (int i = 0; i < 500; ++i) objects.holders.push_back(test::holder("h" + std::to_string(i), "list", 1, 100));
    for (int i = 0; i < 500; ++i) objects.tensor_totals.push_back({.device = "cuda:" + std::to_string(i)});
    const auto held = held_objects(test::with_objects(1, Bytes{1}, objects), nullptr);
    EXPECT_EQ(held->holders.size(), HeldObjects::kMostHolders);
    EXPECT_EQ(held->tensors.size(), HeldObjects::kMostDevices);
}

TEST(HeldObjects, AreAbsentInACensusWithoutObjects) {
    EXPECT_FALSE(held_objects(HeapCensus{}, nullptr));
    EXPECT_EQ(held_objects(test::with_objects(1, Bytes{1}, {.refusal = ObjectsRefusal::debug_build}), nullptr)->refusal,
              ObjectsRefusal::debug_build);
}

TEST(ItemsText, NamesItemsByTheirType) {
    EXPECT_EQ(items_text(11200, "tuple"), "11,200 tuples");
    EXPECT_EQ(items_text(1, "torch.Tensor cpu float32[2]"), "1 tensor (cpu float32[2])");
    EXPECT_EQ(items_text(2, "__main__.Marker"), "2 Marker objects");
    EXPECT_EQ(items_text(1234567, ""), "1,234,567 items");
    EXPECT_EQ(grouped_change(-2000), "-2,000");
    EXPECT_EQ(grouped_change(0), "0");
}

TargetSnapshot target_of(const std::vector<ProcessHeap>& heap) {
    TargetSnapshot target;
    target.heap = heap;
    for (const ProcessHeap& each : heap) {
        Process process;
        process.task.id = each.census.process;
        process.task.memory = AddressSpace{.anon = each.census.anon};
        process.role = each.role.role;
        target.processes.push_back(process);
    }
    return target;
}

ProcessHeap worker(pid_t pid, std::uint64_t mib, bool with_census) {
    ProcessHeap heap{.role = {Role::dataloader_worker, {}}};
    heap.census.process = {pid, 1};
    heap.census.anon = Bytes{mib * kMiB};
    if (with_census) heap.held = leak(883);
    return heap;
}

TEST(TargetHolders, AWorkerRepresentsAnotherWorkerOfSimilarSize) {
    const Grower grower{.pid = 2, .role = {Role::dataloader_worker, {}}};
    EXPECT_NE(heap_that_grows(target_of({worker(1, 1000, true), worker(2, 950, false)}), {}, grower, 1600), nullptr);
    EXPECT_EQ(heap_that_grows(target_of({worker(1, 1000, true), worker(2, 500, false)}), {}, grower, 1600), nullptr)
        << "the containers of another process explain nothing";
}

TEST(TargetHolders, AnOldCensusOrOneWithoutADifferenceExplainsNothing) {
    TargetSnapshot target = target_of({worker(1, 1000, true)});
    EXPECT_NE(heap_that_grows(target, 1700), nullptr);
    EXPECT_EQ(heap_that_grows(target, 1600 + 31 * 60), nullptr);
    target.heap[0].held->over.reset();
    EXPECT_EQ(heap_that_grows(target, 1700), nullptr);
}

}  // namespace holder_sentence_test
}  // namespace memscope
