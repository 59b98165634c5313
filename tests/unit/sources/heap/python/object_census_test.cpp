#include "sources/heap/python/object_census.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_python.h"

namespace memscope {
namespace object_census_test {

using testing::ElementsAre;
using testing::IsEmpty;

const Holder* holder(const ObjectCensus& census, std::string_view path) {
    for (const Holder& each : census.holders)
        if (each.path == path) return &each;
    return nullptr;
}

std::vector<std::string> paths(const ObjectCensus& census) {
    std::vector<std::string> all;
    for (const Holder& each : census.holders) all.push_back(each.path);
    return all;
}

const ObjectsOfType* of_type(const ObjectCensus& census, std::string_view name) {
    for (const ObjectsOfType& each : census.types)
        if (each.type == name) return &each;
    return nullptr;
}

TEST(ObjectCensus, AListOfAModuleRetainsItsItems) {
    FakePython python;
    std::vector<std::uint64_t> items;
    for (int i = 0; i < 100; ++i) items.push_back(python.number());
    python.set_modules({{"__main__", python.module({{"losses", python.list(items)}})}});
    const ObjectCensus census = python.census();
    EXPECT_EQ(census.refusal, ObjectsRefusal::none);
    const Holder* losses = holder(census, "__main__.losses");
    ASSERT_TRUE(losses);
    EXPECT_EQ(losses->root, HolderRoot::module);
    EXPECT_EQ(losses->type, "list");
    EXPECT_EQ(losses->element, "float");
    EXPECT_EQ(losses->length, 100U);
    EXPECT_EQ(losses->retained.n, 40U + 8 * 100 + 24 * 100);
    ASSERT_TRUE(of_type(census, "float"));
    EXPECT_EQ(of_type(census, "float")->count, 100U);
    EXPECT_EQ(of_type(census, "float")->bytes.n, 2400U);
    EXPECT_THAT(python.incomplete, IsEmpty());
}

TEST(ObjectCensus, AnObjectThatTwoContainersHoldIsRetainedByNeither) {
    FakePython python;
    const std::uint64_t shared = python.list({python.number(), python.number()});
    python.set_modules({{"__main__", python.module({{"a", python.list({shared})}, {"b", python.list({shared})}})}});
    const ObjectCensus census = python.census();
    ASSERT_TRUE(holder(census, "__main__.a") && holder(census, "__main__.b"));
    EXPECT_EQ(holder(census, "__main__.a")->retained.n, 48U);
    EXPECT_EQ(holder(census, "__main__.b")->retained.n, 48U);
    const Holder* inner = holder(census, "__main__.a[0]");
    ASSERT_TRUE(inner);
    EXPECT_EQ(inner->other_holders, 1U);
    EXPECT_EQ(inner->retained.n, 40U + 16 + 48);
}

TEST(ObjectCensus, AHolderRefersToItsEnclosingHolder) {
    FakePython python;
    const std::uint64_t losses = python.list({python.number()});
    const std::uint64_t stats = python.list({python.tuple({python.dict({{python.text("losses"), losses}})})});
    python.set_modules({{"__main__", python.module({{"stats", stats}})}});
    const ObjectCensus census = python.census();
    EXPECT_THAT(paths(census), ElementsAre("__main__.stats", "__main__.stats[0][0]", "__main__.stats[0][0]['losses']"));
    EXPECT_EQ(census.holders[0].within, 0U);
    EXPECT_EQ(census.holders[1].within, 1U);
    EXPECT_EQ(census.holders[2].within, 2U);
}

TEST(ObjectCensus, KeysThatMayBeDataAreNotShown) {
    FakePython python;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> many;
    for (int i = 0; i < 64; ++i)
        many.emplace_back(python.text("key" + std::to_string(i)), python.list({python.number()}));
    const std::uint64_t few = python.dict({{python.text("losses"), python.list({python.number()})},
                                           {python.text("John Doe"), python.list({python.number()})},
                                           {python.text("4711"), python.list({python.number()})},
                                           {python.text(std::string(41, 'x')), python.list({python.number()})}});
    python.set_modules({{"__main__", python.module({{"few", few}, {"many", python.dict(many)}})}});
    const ObjectCensus census = python.census();
    EXPECT_TRUE(holder(census, "__main__.few['losses']"));
    EXPECT_EQ(std::ranges::count(paths(census), "__main__.few[…]"), 3);
    EXPECT_EQ(std::ranges::count(paths(census), "__main__.many[…]"), 64);
    EXPECT_EQ(census.holders.size(), 2U + 4 + 64);
}

TEST(ObjectCensus, HidesAttributeNamesThatAreNoIdentifiers) {
    FakePython python;
    python.set_modules({{"__main__", python.module({{"a secret!", python.list({python.number()})}})},
                        {"weird name", python.module({{"x", python.list({python.number()})}})}});
    EXPECT_THAT(paths(python.census()), testing::UnorderedElementsAre("__main__.<…>", "<module>.x"));
}

TEST(ObjectCensus, CyclesEnd) {
    FakePython python;
    const std::uint64_t list = python.list({0, 0, 0});
    for (int i = 0; i < 3; ++i) python.pages.put(python.pages.at(list + 24) + 8 * i, list);
    const std::uint64_t tuple = python.tuple({0});
    python.pages.put(tuple + 24, tuple);
    python.set_modules({{"__main__", python.module({{"list", list}, {"tuple", tuple}})}});
    const ObjectCensus census = python.census();
    ASSERT_TRUE(holder(census, "__main__.list"));
    EXPECT_EQ(holder(census, "__main__.list")->retained.n, 40U + 24);
}

TEST(ObjectCensus, ALengthThatTheMemoryCannotHaveIsNotBelieved) {
    FakePython python;
    const std::uint64_t list = python.list({python.number()}), tuple = python.tuple({python.number()});
    for (const std::uint64_t object : {list, tuple}) python.pages.put(object + 16, std::uint64_t{1} << 60);
    python.pages.put(list + 32, std::uint64_t{1} << 60);
    const std::uint64_t dict = python.dict({{python.text("a"), python.number()}});
    python.pages.put(python.pages.at(dict + 32) + 24, std::uint64_t{1} << 60);
    const std::uint64_t good = python.list({python.number()});
    python.set_modules(
        {{"__main__", python.module({{"list", list}, {"tuple", tuple}, {"dict", dict}, {"good", good}})}});
    const ObjectCensus census = python.census();
    ASSERT_TRUE(holder(census, "__main__.good"));
    EXPECT_EQ(holder(census, "__main__.good")->retained.n, 40U + 8 + 24);
    EXPECT_FALSE(holder(census, "__main__.list"));
    EXPECT_LT(census.bytes.n, 100'000U);
}

TEST(ObjectCensus, AnArrayAtTheEndOfAllAddressesIsNotRead) {
    FakePython python;
    const std::uint64_t list = python.list({python.number(), python.number()}), good = python.list({python.number()});
    python.pages.put(list + 24, ~std::uint64_t{0} - 100);
    python.set_modules({{"__main__", python.module({{"list", list}, {"good", good}})}});
    EXPECT_TRUE(holder(python.census(), "__main__.good"));
}

TEST(ObjectCensus, AnItemThatIsNoObjectIsLeftOut) {
    FakePython python;
    const std::uint64_t freed = python.object(python.float_type, 24, 0);
    const std::uint64_t untyped = python.object(0x1234, 64);
    const std::uint64_t list = python.list({freed, untyped, 8, 0x7777'0000'0000, ~std::uint64_t{0}, python.number()});
    python.set_modules({{"__main__", python.module({{"list", list}})}});
    const ObjectCensus census = python.census();
    ASSERT_TRUE(holder(census, "__main__.list"));
    EXPECT_EQ(holder(census, "__main__.list")->retained.n, 40U + 6 * 8 + 24);
}

TEST(ObjectCensus, IgnoresFakeTypes) {
    FakePython python;
    const std::uint64_t fake_meta = python.object(python.object_type, 512);
    const std::uint64_t fake = python.object(fake_meta, 512);
    python.pages.put(fake + 168, FakePython::kReady);
    python.pages.put(fake + 32, 16);
    const std::uint64_t own = python.object(0, 512);  // its own type
    python.pages.put(own + 8, own);
    python.pages.put(own + 168, FakePython::kReady | 1ULL << 31U);
    python.pages.put(own + 32, 16);
    python.set_modules(
        {{"__main__", python.module({{"list", python.list({python.object(fake, 16), python.object(own, 16)})}})}});
    const ObjectCensus census = python.census();
    ASSERT_TRUE(holder(census, "__main__.list"));
    EXPECT_EQ(holder(census, "__main__.list")->element, "");
}

TEST(ObjectCensus, ABaseThatLeadsBackToTheTypeEnds) {
    FakePython python;
    const std::uint64_t a = python.add_type("a", 0, 16, 0), b = python.add_type("b", 0, 16, 0, a);
    python.pages.put(a + 256, b);
    python.set_modules(
        {{"__main__", python.module({{"list", python.list({python.object(a, 16), python.object(b, 16)})}})}});
    EXPECT_TRUE(holder(python.census(), "__main__.list"));
}

TEST(ObjectCensus, AHeapThatDoesNotFitIsCutOffAndSaysSo) {
    FakePython python;
    std::vector<std::uint64_t> rows;
    for (int i = 0; i < 60'000; ++i) rows.push_back(python.tuple({python.number()}));
    python.set_modules({{"__main__", python.module({{"rows", python.list(rows)}})}});
    const ObjectCensus all = python.census();
    EXPECT_EQ(all.sampled, 1);
    EXPECT_THAT(python.incomplete, IsEmpty());
    const ObjectCensus part = python.census(std::uint64_t{15} << 20);
    EXPECT_LT(part.sampled, 1);
    EXPECT_GT(python.incomplete[HeapGap::too_many], 0U);
    ASSERT_TRUE(holder(part, "__main__.rows"));
    EXPECT_EQ(holder(part, "__main__.rows")->length, 60'000U);
}

TEST(ObjectCensus, ObjectsInPoolsAreHeldLikeOthers) {
    FakePython python;
    python.use_pools();
    std::vector<std::uint64_t> items;
    for (int i = 0; i < 100; ++i) items.push_back(python.number());
    const std::uint64_t shared = python.tuple({python.number()});
    const std::uint64_t bytearray = python.object(python.add_type("bytearray", 0, 56, 0), 56);
    python.pages.put(bytearray + 24, 100'000);
    python.pages.put(bytearray + 40, FakePython::kHeap + FakePython::kHeapBytes / 2);
    const std::uint64_t buffers = python.list({bytearray});
    const std::uint64_t losses = python.list(items), a = python.list({shared}), b = python.list({shared});
    python.set_modules({{"__main__", python.module({{"losses", losses}, {"a", a}, {"b", b}, {"buffers", buffers}})}});
    const ObjectCensus census = python.census();
    const Holder* found = holder(census, "__main__.losses");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->length, 100U);
    EXPECT_EQ(found->element, "float");
    EXPECT_EQ(found->retained.n, 40U + 8 * 100 + 32 * 100) << "a number has a block of 32 bytes";
    ASSERT_TRUE(holder(census, "__main__.a"));
    EXPECT_EQ(holder(census, "__main__.a")->retained.n, 48U) << "two lists hold the tuple";
    ASSERT_TRUE(holder(census, "__main__.buffers"));
    EXPECT_EQ(holder(census, "__main__.buffers")->retained.n, 48U + 56 + 100'000)
        << "the buffer is outside of the pool";
    ASSERT_TRUE(of_type(census, "float"));
    EXPECT_EQ(of_type(census, "float")->count, 101U);
    EXPECT_EQ(of_type(census, "float")->bytes.n, 101 * 24U);
    EXPECT_EQ(census.sampled, 1);
    EXPECT_THAT(python.incomplete, IsEmpty());
}

// Pools are copied first. At every later call, the containers may move to larger buffers.
TEST(ObjectCensus, AContainerThatGetsALargerBufferDuringTheReadKeepsItsItems) {
    for (const bool is_dict : {false, true}) {
        std::uint64_t calls = 0;
        bool found_all = true;
        for (std::uint64_t change_at = 0; change_at == 0 || change_at <= calls; ++change_at) {
            FakePython python;
            python.use_pools();
            std::vector<std::uint64_t> items;
            std::vector<std::pair<std::uint64_t, std::uint64_t>> entries;
            for (int i = 0; i < 100; ++i) {
                items.push_back(python.tuple({python.number()}));
                entries.emplace_back(python.number(), items.back());
            }
            python.begin_region();
            const auto make = [&] { return is_dict ? python.dict(entries) : python.list(items); };
            const std::uint64_t container = make();
            const std::uint64_t pointer = container + (is_dict ? 32 : 24), old = python.pages.at(pointer);
            python.begin_region();
            const std::uint64_t other = make(), larger = python.pages.at(other + (is_dict ? 32 : 24));
            for (std::uint64_t at = 16; at < 40; at += 8) python.pages.put(other + at, 0);  // it holds nothing itself
            python.begin_region();
            python.set_modules({{"__main__", python.module({{"kept", container}})}});
            python.pages.change_at = change_at;
            python.pages.change = [&] {
                python.pages.put(pointer, larger);
                for (std::uint64_t at = 0; at < 800; at += 8)
                    python.pages.put(old + at, 0x6666);  // malloc uses it again
            };
            const ObjectCensus census = python.census();
            calls = python.pages.calls;
            const Holder* kept = holder(census, "__main__.kept");
            // One call can lie between the read of the head and the read of the buffer.
            if (!kept || kept->retained.n < 100 * (32U + 32U)) {
                EXPECT_TRUE(std::exchange(found_all, false)) << "is_dict " << is_dict << ", call " << change_at;
            }
        }
        EXPECT_GT(calls, 3U);
    }
}

// A job replaces its array by a longer one all the time. At every later call, the array may have been replaced.
TEST(ObjectCensus, AnArrayThatIsReplacedDuringTheReadIsHeldByItsVariable) {
    constexpr std::uint64_t kOld = 0x7100'0000'0000, kNew = 0x7200'0000'0000, kElements = 1 << 20;
    for (const bool in_module : {false, true}) {
        std::uint64_t calls = 0;
        for (std::uint64_t change_at = 0; change_at == 0 || change_at <= calls; ++change_at) {
            FakePython python;
            python.use_pools();
            const std::uint64_t old = python.array(kOld, kElements);
            const std::uint64_t other = python.array(kNew, 2 * kElements);
            python.pages.put(other, 0);  // not yet
            const auto touch = [&](std::uint64_t data, std::uint64_t bytes) {
                python.pages.touch({data, data + 8});
                python.pages.touch({data + bytes - 8, data + bytes});
            };
            touch(kOld, 4 * kElements);
            const std::uint64_t module = python.module({{"preds", in_module ? old : python.list({python.number()})}});
            python.set_modules({{"__main__", module}});
            std::uint64_t slot = python.pages.at(python.pages.at(module + 16) + 32) + 32 + 8 + 16;
            if (!in_module) slot = python.run("evaluate", {{"preds", old}});
            python.pages.change_at = change_at;
            python.pages.change = [&] {
                python.pages.put(other, 1);
                touch(kNew, 8 * kElements);
                python.pages.put(slot, other);
                python.pages.put(old, 0x6800'0000'4000);  // a link of the free list
                python.pages.drop(kOld);
                python.pages.drop(kOld + 4 * kElements - 8);
            };
            const ObjectCensus census = python.census();
            calls = python.pages.calls;
            const Holder* preds = holder(census, in_module ? "__main__.preds" : "evaluate (job.py:5) preds");
            EXPECT_TRUE(preds && preds->retained.n >= 4 * kElements) << in_module << ", call " << change_at;
            for (const std::string& path : paths(census)) EXPECT_FALSE(path.starts_with("<C code>")) << change_at;
        }
        EXPECT_GT(calls, 5U);
    }
}

// A temporary array was copied, but the memory of its shape was used again before it was read.
TEST(ObjectCensus, AFreedArrayWhoseShapeIsGoneHasNoElements) {
    constexpr std::uint64_t kData = 0x7100'0000'0000, kElements = 10'000;
    for (const bool is_gone : {false, true}) {
        std::uint64_t calls = 0, most = 0;
        for (std::uint64_t change_at = 0; change_at == 0 || change_at <= calls; ++change_at) {
            FakePython python;
            python.use_pools();
            const std::uint64_t array = python.array(kData, kElements);
            python.set_modules({{"__main__", python.module({{"arrays", python.list({array})}})}});
            if (is_gone) python.pages.put(python.pages.at(array + 40), 0x6800'0000'4000);  // the stride
            python.pages.change_at = change_at;
            python.pages.change = [&] { python.pages.put(array, 2); };
            const ObjectCensus census = python.census();
            calls = python.pages.calls;
            if (const ObjectsOfType* arrays = of_type(census, "numpy.ndarray")) most = std::max(most, arrays->bytes.n);
        }
        if (is_gone)
            EXPECT_LT(most, 1000U);
        else
            EXPECT_GE(most, 4 * kElements) << "its size is believed";
    }
}

// Outer functions run in every census, inner ones do not. The path must be the same in each census.
TEST(ObjectCensus, AnObjectHasNoPathThroughAnInnerFunctionIfThereIsAnotherPath) {
    FakePython python;
    const std::uint64_t cache = python.list({python.tuple({python.number()})});
    const std::uint64_t own = python.list({python.number(), python.number()});
    python.set_modules({{"__main__", python.module({{"x", python.list({python.number()})}})}});
    python.run("main", {{"tokenizer", python.tuple({python.tuple({cache})})}});
    for (const char* function : {"fit", "epoch", "encode"}) python.run(function, {{"self", cache}});
    python.run("step", {{"own", own}});
    const ObjectCensus census = python.census();
    EXPECT_TRUE(holder(census, "main (job.py:5) tokenizer[0][0]"));
    EXPECT_TRUE(holder(census, "step (job.py:5) own"));
}

TEST(ObjectCensus, AnObjectInAPoolThatNothingHoldsIsGarbage) {
    FakePython python;
    python.use_pools();
    const std::uint64_t first = python.list({0}), second = python.list({first});
    python.pages.put(python.pages.at(first + 24), second);
    python.set_modules({{"__main__", python.module({{"x", python.list({python.number()})}})}});
    const ObjectCensus census = python.census();
    EXPECT_TRUE(holder(census, "__main__.x"));
    ASSERT_TRUE(census.garbage);
    EXPECT_EQ(census.garbage->objects, 2U);
    EXPECT_FALSE(std::ranges::any_of(paths(census), [](const std::string& path) {
        return path.starts_with("<garbage>");
    })) << "garbage is a cause of its own, and no holder";
}

// Such an object has been freed, or a reference to it is newer than the copy.
TEST(ObjectCensus, AnObjectWithoutACycleIsNoGarbage) {
    FakePython python;
    python.use_pools();
    python.pages.put(python.list({python.number()}), 0);
    python.set_modules({{"__main__", python.module({{"x", python.list({python.number()})}})}});
    const ObjectCensus census = python.census();
    ASSERT_TRUE(census.garbage);
    EXPECT_EQ(census.garbage->objects, 0U);
}

TEST(ObjectCensus, PoolsThatDoNotFitIntoTheCopyGiveTheSameAnswer) {
    FakePython python;
    python.use_pools();
    std::vector<std::uint64_t> rows;
    for (int i = 0; i < 22'000; ++i) {
        const std::uint64_t row = python.object(python.tuple_type, 504);
        python.pages.put(row + 16, 60);
        if (i % 8 == 0) python.pages.put(row + 24, python.number());
        rows.push_back(row);
    }
    std::ranges::reverse(rows);
    python.set_modules({{"__main__", python.module({{"rows", python.list(rows)}})}});
    const ObjectCensus all = python.census();
    const ObjectCensus pieces = python.census(std::uint64_t{15} << 20);
    for (const ObjectCensus* census : {&all, &pieces}) {
        EXPECT_EQ(census->sampled, 1);
        EXPECT_GT(census->references_explained, 0.9);
        ASSERT_TRUE(holder(*census, "__main__.rows"));
        EXPECT_EQ(holder(*census, "__main__.rows")->retained.n, 40U + 22'000 * (8 + 504) + 2'750 * 32);
        EXPECT_EQ(of_type(*census, "tuple")->count, 22'000U);
    }
    EXPECT_THAT(python.incomplete, IsEmpty());
}

TEST(ObjectCensus, AGraphOfPoolsThatDoesNotFitIsMadeFromTheRootsOn) {
    FakePython python;
    python.use_pools();
    std::vector<std::uint64_t> rows;
    for (int i = 0; i < 60'000; ++i) rows.push_back(python.tuple({python.number()}));
    python.set_modules({{"__main__", python.module({{"rows", python.list(rows)}})}});
    const ObjectCensus part = python.census(std::uint64_t{15} << 20);
    EXPECT_LT(part.sampled, 1);
    EXPECT_GT(python.incomplete[HeapGap::too_many], 0U);
    ASSERT_TRUE(holder(part, "__main__.rows"));
    EXPECT_EQ(holder(part, "__main__.rows")->length, 60'000U);
    ASSERT_TRUE(of_type(part, "tuple"));
    EXPECT_EQ(of_type(part, "tuple")->count, 60'000U) << "objects by type are complete";
}

TEST(ObjectCensus, AForkedProcessIsCountedByWhatItHoldsForItself) {
    FakePython python;
    std::vector<std::uint64_t> samples, results;
    for (int i = 0; i < 300; ++i) samples.push_back(python.number());
    const std::uint64_t dataset = python.list(samples);
    const std::uint64_t boundary = python.begin_page();
    for (int i = 0; i < 100; ++i) results.push_back(python.number());
    const std::uint64_t own = python.list(results);
    python.set_modules({{"__main__", python.module({{"dataset", dataset}, {"results", own}})}});
    EXPECT_TRUE(holder(python.census(), "__main__.dataset"));
    EXPECT_EQ(python.census().inherited, std::nullopt);
    EXPECT_EQ(of_type(python.census(), "float")->count, 400U);
    python.inherited = PresentPages({{FakePython::kHeap, boundary}});
    const ObjectCensus census = python.census();
    EXPECT_EQ(census.inherited, Bytes{boundary - FakePython::kHeap});
    EXPECT_EQ(of_type(census, "float")->count, 100U);
    EXPECT_EQ(of_type(census, "float")->bytes.n, 2400U);
    ASSERT_TRUE(holder(census, "__main__.dataset"));
    EXPECT_EQ(holder(census, "__main__.dataset")->retained.n, 0U) << "its parent holds it";
    ASSERT_TRUE(holder(census, "__main__.results"));
    EXPECT_EQ(holder(census, "__main__.results")->retained.n, 40U + 8 * 100 + 24 * 100);
}

TEST(ObjectCensus, TensorsOfAnUnknownPyTorchAreRefused) {
    FakePython python;
    const std::uint64_t type = python.add_type("torch._C._TensorBase", 0, 48, 0);
    python.set_modules({{"__main__", python.module({{"tensors", python.list({python.object(type, 48)})}})}});
    const ObjectCensus census = python.census();
    EXPECT_EQ(census.tensors_refused, "no known layout of PyTorch fits: 0 of 1 tensors agree with the best one");
    EXPECT_THAT(census.tensors, IsEmpty());
    ASSERT_TRUE(holder(census, "__main__.tensors"));
    EXPECT_EQ(holder(census, "__main__.tensors")->element, "torch._C._TensorBase");
}

TEST(ObjectCensus, TheTimeLimitIsKept) {
    FakePython python;
    std::vector<std::uint64_t> rows;
    for (int i = 0; i < 10'000; ++i) rows.push_back(python.tuple({python.number()}));
    python.set_modules({{"__main__", python.module({{"rows", python.list(rows)}})}});
    (void)python.census(std::uint64_t{64} << 20, 311, Seconds{0});
    EXPECT_EQ(python.incomplete[HeapGap::time_limit], 1U);
}

TEST(ObjectCensus, UnknownInterpretersAreRefused) {
    FakePython python;
    python.set_modules({{"__main__", python.module({})}});
    EXPECT_EQ(python.census(1 << 26, 309).refusal, ObjectsRefusal::version);
    EXPECT_EQ(python.census(1 << 26, 316).refusal, ObjectsRefusal::version);
    EXPECT_EQ(python.census(1 << 26, std::nullopt).refusal, ObjectsRefusal::version);
    EXPECT_EQ(python.census(1 << 26, 313).refusal, ObjectsRefusal::not_found) << "its table is not there";
}

TEST(ObjectCensus, AnInterpreterThatDescribesItselfIsRefusedIfItIsFreeThreadedOrUnknown) {
    FakePython python;
    python.pages.put(FakePython::kRuntime, 0x7970677562656478);  // "xdebugpy"
    python.pages.put(FakePython::kRuntime + 8, 0x030e00f0);
    python.pages.put(FakePython::kRuntime + 16, 1);
    EXPECT_EQ(python.census().refusal, ObjectsRefusal::free_threaded);
    python.pages.put(FakePython::kRuntime + 8, 0x031000f0);
    EXPECT_EQ(python.census().refusal, ObjectsRefusal::version);
}

TEST(ObjectCensus, ADebugBuildIsRefused) {
    FakePython python;
    python.set_modules({{"sys", python.module({{"gettotalrefcount", python.list({})}})}});
    EXPECT_EQ(python.census().refusal, ObjectsRefusal::debug_build);
}

TEST(ObjectCensus, AnInterpreterWithoutModulesIsNotFound) {
    FakePython python;
    EXPECT_EQ(python.census().refusal, ObjectsRefusal::not_found);
    python.pages.put(FakePython::kRuntime + 40, 0);
    EXPECT_EQ(python.census().refusal, ObjectsRefusal::not_found);
}

TEST(ObjectCensus, AnyObjectThatRetainsMuchIsAHolder) {
    FakePython python;
    const std::uint64_t bytes_type = python.add_type("bytes", 1U << 27U, 33, 1);
    const auto make_bytes = [&](std::uint64_t size) {
        const std::uint64_t object = python.object(bytes_type, 33 + size);
        python.pages.put(object + 16, size);
        return object;
    };
    const std::uint64_t node_type = python.add_type("Node", 0, 32, 0);
    std::uint64_t next = 0;
    for (int i = 0; i < 20; ++i) {
        const std::uint64_t node = python.object(node_type, 32);
        python.pages.put(node + 16, make_bytes(20'000));
        python.pages.put(node + 24, next);
        next = node;
    }
    python.set_modules({{"__main__", python.module({{"blob", make_bytes(500'000)},
                                                    {"pair", python.tuple({make_bytes(100'000), make_bytes(100'000)})},
                                                    {"head", next},
                                                    {"small", make_bytes(1000)}})}});
    const ObjectCensus census = python.census();
    const Holder* blob = holder(census, "__main__.blob");
    ASSERT_TRUE(blob);
    EXPECT_EQ(blob->kind, HolderKind::object);
    EXPECT_EQ(blob->type, "bytes");
    EXPECT_EQ(blob->retained.n, 500'033U);
    EXPECT_NE(blob->address, 0U);
    ASSERT_TRUE(holder(census, "__main__.pair"));
    EXPECT_GT(holder(census, "__main__.pair")->retained.n, 200'000U);
    ASSERT_TRUE(holder(census, "__main__.head"));
    EXPECT_GT(holder(census, "__main__.head")->retained.n, 400'000U) << "the head of a linked list holds all of it";
    EXPECT_EQ(std::ranges::count(census.holders, "Node", &Holder::type), 2) << "later nodes are no holders";
    EXPECT_FALSE(holder(census, "__main__.small"));
}

TEST(ObjectCensus, GarbageIsCountedWithAllThatItHolds) {
    FakePython python;
    python.use_pools();
    const std::uint64_t node_type = python.add_type("Awaitable", FakePython::kHeapType, 32, 0);
    for (int i = 0; i < 30; ++i) {
        const std::uint64_t first = python.object(node_type, 32), second = python.list({first, python.number()});
        python.pages.put(first + 16, second);
    }
    python.set_modules({{"__main__", python.module({{"Awaitable", node_type}})}});
    const ObjectCensus census = python.census();
    ASSERT_TRUE(census.garbage);
    EXPECT_EQ(census.garbage->objects, 60U) << "numbers with one reference are no objects of their own";
    ASSERT_EQ(census.garbage->types.size(), 1U);
    EXPECT_EQ(census.garbage->types.front().type, "Awaitable") << "an instance tells more than a list";
    EXPECT_EQ(census.garbage->types.front().count, 30U);
    EXPECT_FALSE(census.garbage->through_native);
    EXPECT_GT(census.garbage->bytes.n, 30 * (32U + 40U));
}

TEST(ObjectCensus, ReferencesThatNobodyExplainsAreCountedByType) {
    FakePython python;
    python.use_pools();
    for (int i = 0; i < 40; ++i) {
        const std::uint64_t kept = python.list({python.number()});
        python.pages.put(kept, 3);
    }
    python.set_modules({{"__main__", python.module({{"x", python.list({python.number()})}})}});
    const ObjectCensus census = python.census();
    const auto found = std::ranges::find(census.unexplained, "list", &UnexplainedReferences::type);
    ASSERT_NE(found, census.unexplained.end());
    EXPECT_EQ(found->objects, 40U);
    EXPECT_EQ(found->references, 120U);
    ASSERT_TRUE(census.garbage);
    EXPECT_EQ(census.garbage->objects, 0U) << "something may refer to them";
}

}  // namespace object_census_test
}  // namespace memscope
