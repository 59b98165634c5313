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
    const HeapCensus now = test::with_objects(1600, Bytes{100 * kMiB}, test::outputs_of(11300, 1000));
    const auto held = held_objects(now, nullptr);
    EXPECT_EQ(holder_sentence(*held), "");
    EXPECT_EQ(holder_sentence(*held, HolderMemory::device), "");
    EXPECT_EQ(largest_holder_sentence(*held), "`__main__.trainer.val_outputs` (list with 11,300 tuples) holds 11 MiB.");
    const HeapCensus large = test::with_objects(1600, Bytes{500 * kMiB}, test::outputs_of(11300, 1000));
    EXPECT_EQ(largest_holder_sentence(*held_objects(large, nullptr)), "") << "2 % of the memory";
}

TEST(HolderSentence, SaysFreedMemoryFirstIfItGrewMore) {
    const std::uint64_t each = 160 * kMiB / 1000;
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, test::outputs_of(100, each));
    HeapCensus now = test::with_objects(1600, Bytes{1500 * kMiB}, test::outputs_of(1100, each));
    now.part(HeapPart::malloc_live) = Bytes{660 * kMiB};
    now.part(HeapPart::malloc_free) = Bytes{840 * kMiB};
    EXPECT_EQ(holder_sentence(*held_objects(now, &before)),
              "840 MiB of freed memory that malloc keeps explain 84 % of the growth in 10 min. "
              "`__main__.trainer.val_outputs` (list) has grown by 1,000 tuples and 160 MiB (16 %).");
}

TEST(HolderSentence, SaysWhatElseGrewIfItExplainsLessThanHalf) {
    const std::uint64_t each = 160 * kMiB / 1000;
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, test::outputs_of(100, each));
    HeapCensus now = test::with_objects(1600, Bytes{1500 * kMiB}, test::outputs_of(1100, each));
    now.part(HeapPart::malloc_live) = Bytes{1100 * kMiB};
    now.part(HeapPart::mapped) = Bytes{400 * kMiB};
    EXPECT_EQ(holder_sentence(*held_objects(now, &before)),
              "`__main__.trainer.val_outputs` (list) has grown by 1,000 tuples and 160 MiB in 10 min; 16 % of the "
              "growth. Together, what is known explains 16 % of the growth of 1000 MiB; also grown: 440 MiB of live "
              "memory without a known holder, 400 MiB of large mappings of no known allocator.");
}

TEST(HolderSentence, SaysThatNoHolderExplainsTheGrowthAndWhatGrewByShape) {
    ObjectCensus few = test::outputs_of(100, 1000), many = few;
    few.tensors = {{"cpu", "float32", {384, 384}, false, 10, Bytes{6 * kMiB}}};
    many.tensors = {{"cpu", "float32", {384, 384}, false, 310, Bytes{186 * kMiB}}};
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, few);
    HeapCensus now = test::with_objects(1600, Bytes{900 * kMiB}, many);
    now.part(HeapPart::malloc_live) = Bytes{500 * kMiB};
    now.part(HeapPart::mapped) = Bytes{400 * kMiB};
    EXPECT_EQ(holder_sentence(*held_objects(now, &before)),
              "No known holder explains the growth of 400 MiB in 10 min: 400 MiB of large mappings of no known "
              "allocator. More than before: 300 tensors (cpu float32[384,384]) (180 MiB).");
}

// Two censuses in which the figures of `first` become those of `second` while the process grows by 400 MiB.
HeldObjects grown(const ObjectCensus& first, const ObjectCensus& second) {
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, first);
    const HeapCensus now = test::with_objects(1012, Bytes{900 * kMiB}, second);
    return *held_objects(now, &before);
}

TEST(HolderSentence, SaysWhoHadTheObjectsIfTheirHolderCouldNotBeRead) {
    ObjectCensus first, second;
    first.tensors = {{"cpu", "float32", {8, 12}, false, 160, Bytes{80 * kMiB}}};
    second.tensors = {{"cpu", "float32", {8, 12}, false, 860, Bytes{430 * kMiB}}};
    Holder list = test::holder("m.preds", "list", 153, 76 * kMiB, 0, "torch.Tensor cpu float32[8,12]");
    list.address = 0x7000;
    first.holders = {list};
    EXPECT_THAT(holder_sentence(grown(first, second)),
                testing::EndsWith("The earlier census found most of them in "
                                  "`m.preds`, which changed while this census was taken."));
    list.retained = Bytes{1};
    second.holders = {list};
    EXPECT_THAT(holder_sentence(grown(first, second)), Not(HasSubstr("The earlier census"))) << "it did not grow";
}

TEST(HolderSentence, DoesNotNameAHolderThatExplainsLittle) {
    EXPECT_THAT(holder_sentence(leak(9000)), StartsWith("No known holder explains the growth of 8.8 GiB"));
    EXPECT_FALSE(names_holder(leak(9000)));
}

ObjectCensus with_garbage(std::uint64_t mib, bool through_native = false) {
    ObjectCensus objects = test::outputs_of(100, 1000);
    const std::string type = through_native ? "torch.nn.parameter.Parameter" : "__main__.EmbeddingsAwaitable";
    objects.garbage = Garbage{.bytes = Bytes{mib * kMiB},
                              .objects = mib * 20,
                              .types = {{type, mib * 10, Bytes{mib * kMiB}}},
                              .through_native = through_native};
    return objects;
}

TEST(HolderSentence, NamesGarbageThatGrew) {
    EXPECT_EQ(
        holder_sentence(grown(with_garbage(10), with_garbage(385))),
        "385 MiB of objects only refer to each other and wait for Python's garbage collector (3,850 "
        "EmbeddingsAwaitable objects), 375 MiB more than 12 s ago; 94 % of the growth. The collector is off (gc), "
        "or cannot keep up.");
    EXPECT_TRUE(names_holder(grown(with_garbage(10), with_garbage(385))));
}

TEST(HolderSentence, SaysThatTheCollectorCannotBreakACycleOfCpp) {
    EXPECT_EQ(holder_sentence(grown(with_garbage(10, true), with_garbage(385, true))),
              "C++ closes a cycle (parameter, gradient, autograd graph), so Python's collector cannot free it: 385 MiB "
              "(3,850 parameters), 375 MiB more than 12 s ago; 94 % of the growth.");
}

TEST(HolderSentence, CallsNothingGarbageOnOneReading) {
    EXPECT_THAT(holder_sentence(grown(with_garbage(0), with_garbage(385))), StartsWith("No known holder"));
    EXPECT_THAT(holder_sentence(grown(with_garbage(600), with_garbage(385))), StartsWith("No known holder"))
        << "it shrank";
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, with_garbage(0)),
                     between = test::with_objects(1006, Bytes{700 * kMiB}, with_garbage(200)),
                     now = test::with_objects(1012, Bytes{900 * kMiB}, with_garbage(385));
    EXPECT_THAT(holder_sentence(*held_objects(now, &before, &between)), StartsWith("385 MiB of objects only refer"))
        << "two censuses have it";
}

ObjectCensus with_lost(std::uint64_t mib, double read = 1, const std::string& type = "") {
    ObjectCensus objects = test::outputs_of(100, 1000);
    objects.owners = HeapOwners{.live = Bytes{800 * kMiB}, .read = read};
    objects.native_unreached = NativeUnreached{.bytes = Bytes{mib * kMiB}, .blocks = 50'000};
    objects.native_unreached->groups = {{type, Bytes{24}, mib * 30, Bytes{mib * kMiB * 99 / 100}}};
    return objects;
}

TEST(HolderSentence, NamesMemoryThatNativeCodeLost) {
    EXPECT_EQ(holder_sentence(grown(with_lost(200), with_lost(592))),
              "592 MiB were lost by native code: nothing refers to 17,760 blocks of 24 bytes, 392 MiB more than 12 s "
              "ago; 98 % of the growth.");
    EXPECT_THAT(holder_sentence(grown(with_lost(200), with_lost(592, 0.97, "ocr::Page"))),
                testing::AllOf(StartsWith("At most 592 MiB were lost"), HasSubstr("24 bytes (ocr::Page),")));
    EXPECT_THAT(holder_sentence(grown(with_lost(0), with_lost(592))), Not(HasSubstr("lost")));
    EXPECT_THAT(holder_sentence(grown(with_lost(580), with_lost(592))), Not(HasSubstr("lost"))) << "3 % of the growth";
}

TEST(HolderSentence, NeverCallsLessThanOnePercentOfTheHeapLost) {
    const auto of = [](std::uint64_t kib) {
        ObjectCensus objects = with_lost(1);
        objects.native_unreached->bytes = Bytes{kib << 10};
        return objects;
    };
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, of(2000)),
                     now = test::with_objects(1012, Bytes{505 * kMiB}, of(6000));
    EXPECT_THAT(holder_sentence(*held_objects(now, &before)), Not(HasSubstr("lost")));
    const HeapCensus more = test::with_objects(1012, Bytes{510 * kMiB}, of(10'000));
    EXPECT_THAT(holder_sentence(*held_objects(more, &before)), HasSubstr("lost by native code"));
}

TEST(HolderSentence, NamesReferencesThatNobodyExplains) {
    const auto of = [](std::uint64_t arrays) {
        ObjectCensus objects = test::outputs_of(100, 1000);
        objects.owners = HeapOwners{.live = Bytes{800 * kMiB}};
        objects.unexplained = {{"str", 300, 900, Bytes{20000}},
                               {"numpy.ndarray float32[3,72,72]", arrays, arrays, Bytes{arrays * 62208}}};
        return objects;
    };
    EXPECT_THAT(holder_sentence(grown(of(500), of(5824))),
                StartsWith("A native library keeps references to 5,824 arrays (float32[3,72,72])"));
    EXPECT_THAT(holder_sentence(grown(of(5824), of(5824))), Not(HasSubstr("native library")));
}

TEST(HolderSentence, NamesThreadsWhoseObjectsGrewWithThem) {
    const auto of = [](std::uint64_t threads, std::uint64_t arrays) {
        ObjectCensus objects = test::outputs_of(100, 1000);
        objects.types.push_back({"threading.Thread", threads, Bytes{threads * 48}});
        objects.arrays = {{"float32", {512, 512}, arrays, Bytes{arrays * kMiB}}};
        return objects;
    };
    EXPECT_THAT(holder_sentence(grown(of(200, 190), of(580, 560))),
                StartsWith("580 threads run, 380 more than 12 s ago, and objects of the threads with them: 370 arrays "
                           "(float32[512,512]) and 370 MiB more; 92 % of the growth."));
    EXPECT_THAT(holder_sentence(grown(of(200, 190), of(210, 560))), StartsWith("No known holder"))
        << "370 arrays are not of 10 threads";
}

TEST(HolderSentence, SaysThatSmallViewsKeepLargeStorages) {
    HeldObjects held = leak(883);
    held.holders[0].holder.item_storage = Bytes{2 * kMiB};
    EXPECT_THAT(holder_sentence(held),
                testing::EndsWith("Most of its items are small views, and each keeps a storage of 2.0 MiB."));
}

TEST(HolderSentence, NamesATensorWithItsGraph) {
    HeldObjects held = leak(883);
    held.holders[0].holder.kind = HolderKind::tensor;
    EXPECT_THAT(holder_sentence(held), HasSubstr("val_outputs` (tensor) has grown by 812 MiB in"));
    held.causes.grown = {{.element = "torch.Tensor cpu float32[2]", .count_change = 300, .bytes_change = 5}};
    EXPECT_THAT(holder_sentence(held), HasSubstr("val_outputs` (tensor with its autograd graph) has grown by 812 MiB"));
}

TEST(HoldersSentence, TheLargerGrowthIsFirstHostOrGpu) {
    HeldObjects held = leak(883);
    HolderChange gpu = held.holders[0];
    gpu.holder.path = "m.activations";
    gpu.own_host = 0;
    gpu.own_device = 2500 * kMiB;
    gpu.device_change = gpu.own_device;
    held.holders.push_back(gpu);
    held.device_grown = 2600 * kMiB;
    EXPECT_THAT(holders_sentence(held), StartsWith("`m.activations` (list) has grown by"));
    EXPECT_THAT(holders_sentence(held), HasSubstr("val_outputs"));
    held.holders[0].own_host = 3 * kMiB;
    held.grown = 24 * kMiB;
    EXPECT_THAT(holders_sentence(held), Not(HasSubstr("val_outputs")))
        << "12 % of the growth in host memory, but little";
    held.holders.erase(held.holders.begin());
    held.grown = 90000 * kMiB;
    EXPECT_THAT(holders_sentence(held), Not(HasSubstr("m.activations")))
        << "all of the growth on the GPU, but little beside that of the host, whose holder is not known";
}

TEST(RefusalSentence, SaysThatAFreeThreadedBuildIsNotRead) {
    EXPECT_THAT(refusal_sentence(ObjectsRefusal::free_threaded),
                testing::AllOf(HasSubstr("free-threaded build of Python"), HasSubstr("mimalloc"),
                               HasSubstr("What holds the memory is not known.")));
    EXPECT_EQ(refusal_sentence(ObjectsRefusal::none), "");
}

TEST(HolderSentence, DoesNotBlameOthersWhileTheChangeOfALargeContainerIsNotKnown) {
    HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, {.holders = {test::holder("a", "list", 1, 10)}});
    before.incomplete[HeapGap::torn] = 5;
    const HeapCensus now = test::with_objects(1600, Bytes{900 * kMiB}, test::outputs_of(300, kMiB));
    const std::string text = holder_sentence(*held_objects(now, &before));
    EXPECT_THAT(text,
                StartsWith("`__main__.trainer.val_outputs` (list) holds 300 MiB. Whether it has grown is not known"));
    EXPECT_THAT(text, Not(HasSubstr("No known holder")));
    EXPECT_FALSE(names_holder(*held_objects(now, &before)));
}

TEST(HolderSentence, DoesNotBlameOthersWhileALargeContainerHasMoreItemsAndSeemsToHoldLess) {
    const HeapCensus before = test::with_objects(1000, Bytes{500 * kMiB}, test::outputs_of(400, kMiB));
    HeapCensus now = test::with_objects(1600, Bytes{900 * kMiB}, test::outputs_of(700, kMiB / 2));
    now.part(HeapPart::malloc_live) = Bytes{900 * kMiB};
    EXPECT_EQ(holder_sentence(*held_objects(now, &before)),
              "`__main__.trainer.val_outputs` (list) has 300 tuples more, and how much of the growth they hold is not "
              "known: the process changed while it was read, or other holders have some of them, too.");
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
    EXPECT_EQ(holder_sentence(held),
              "`__main__.outputs` (list) holds 300 MiB. Whether it has grown is not known, because the earlier census "
              "does not "
              "have it.");
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
