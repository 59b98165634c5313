#include "sources/heap/glibc_free.h"

#include <gtest/gtest.h>

#include "glibc_reading.h"
#include "support/fake_heap.h"

namespace memscope {
namespace glibc_free_test {

using namespace glibc_reading;

class EachGlibc : public testing::TestWithParam<FakeGlibcLayout> {};
INSTANTIATE_TEST_SUITE_P(Versions, EachGlibc, testing::ValuesIn(kFakeLayouts),
                         [](const auto& each) { return "glibc_2_" + std::to_string(each.param.version.minor); });

TEST_P(EachGlibc, ArenasAreFoundWithoutSymbols) {
    FakeGlibc glibc(GetParam());
    fill(glibc, 0, 100);
    fill(glibc, glibc.add_arena(), 100);
    fill(glibc, glibc.add_arena(), 100);
    glibc.mmapped = 1 << 20;
    glibc.finish();
    Seen seen(glibc);
    const auto found = seen.find();
    ASSERT_TRUE(found);
    ASSERT_EQ(found->arenas.size(), 3U);
    EXPECT_EQ(found->arenas[0].address, FakeGlibc::kMainArena);
    EXPECT_EQ(found->arenas[1].address, glibc.arena_address(1));
    EXPECT_EQ(found->bins_offset, GetParam().bins_offset);
    EXPECT_EQ(found->heap_head, GetParam().heap_head);
    EXPECT_EQ(found->hides_links(), GetParam().hidden_links);
    EXPECT_EQ(count_inconsistent_arenas(*found), 0U);
    ASSERT_TRUE(found->parameters);
    EXPECT_EQ(found->parameters->mmapped, 1U << 20);
    EXPECT_EQ(found->parameters->mmaps, 1U);
    EXPECT_EQ(found->parameters->sbrk_base, FakeGlibc::kHeap);
}

TEST_P(EachGlibc, ListsAndWalkFindTheSameFreeBytes) {
    FakeGlibc glibc(GetParam());
    fill(glibc, 0, 500);
    fill(glibc, glibc.add_arena(), 500);
    glibc.finish();
    Seen seen(glibc);
    const GlibcFree lists = seen.free_by(FreeMethod::lists), walk = seen.free_by(FreeMethod::walk);
    EXPECT_EQ(lists.bytes, glibc.bytes(FakeUse::in_bin));
    EXPECT_EQ(lists.present, lists.bytes);
    EXPECT_EQ(lists.torn, 0U);
    EXPECT_EQ(walk.method, FreeMethod::walk);
    EXPECT_EQ(walk.bytes, lists.bytes);
    EXPECT_EQ(walk.present, lists.present);
    EXPECT_EQ(walk.trimmable, lists.trimmable);
    EXPECT_EQ(walk.torn, 0U);
}

class EachGlibcWithFastbins : public EachGlibc {};
INSTANTIATE_TEST_SUITE_P(Versions, EachGlibcWithFastbins, testing::ValuesIn(kFakeLayouts, kFakeLayouts + 3),
                         [](const auto& each) { return "glibc_2_" + std::to_string(each.param.version.minor); });

TEST_P(EachGlibcWithFastbins, ChunksOfFastbinsAreFree) {
    FakeGlibc glibc(GetParam());
    for (int i = 0; i < 300; ++i) {
        glibc.add(64, FakeUse::used);
        glibc.add(32 + 16 * (i % 6), FakeUse::in_fastbin);
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    Seen seen(glibc);
    const std::uint64_t wanted = glibc.bytes(FakeUse::in_fastbin);
    EXPECT_EQ(seen.free_by(FreeMethod::lists).bytes, wanted);
    EXPECT_EQ(seen.free_by(FreeMethod::walk).bytes, wanted);
}

// Until glibc 2.31 a walk counts chunks of fastbins as used.
TEST(GlibcFree, FastbinsOfAnOldVersionThatAreTooLongMakeTheAnswerIncomplete) {
    FakeGlibc glibc(kFakeLayouts[0]);
    for (int i = 0; i < 1000; ++i) {
        glibc.add(64, FakeUse::used);
        glibc.add(64, FakeUse::in_fastbin);
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    Seen seen(glibc);
    const auto found = seen.find();
    const auto free_with = [&](std::size_t most_chunks) {
        return find_glibc_free(*found, {}, seen.memory, {.deadline = ReadDeadline(kLong), .most_chunks = most_chunks});
    };
    EXPECT_EQ(free_with(100000).bytes, 64000U);
    EXPECT_FALSE(free_with(100000).late);
    EXPECT_LT(free_with(100).bytes, 64000U);
    EXPECT_TRUE(free_with(100).late);
}

TEST(GlibcFree, MallocTrimReturnsWholePagesOfFreeChunksAndTheEndOfTheMainHeap) {
    FakeGlibc glibc;
    glibc.add(0x1000, FakeUse::used);
    const std::uint64_t free = glibc.add(0x5000, FakeUse::in_bin);
    glibc.add(0x1000, FakeUse::used);
    glibc.finish();
    Seen seen(glibc);
    const GlibcFree found = seen.free();
    const std::uint64_t inside = rounded_down(free + 0x5000, 4096) - rounded_up(free + 48, 4096);
    const std::uint64_t top = glibc.heap_end(0) - (free + 0x6000);
    EXPECT_EQ(found.trimmable, inside + rounded_down(top - 33, 4096));
    EXPECT_EQ(found.top_present, top);
}

TEST(GlibcFree, TheTopOfAnotherArenaIsNotTrimmable) {
    FakeGlibc glibc;
    glibc.add(0x1000, FakeUse::used);
    glibc.add(0x1000, FakeUse::used, glibc.add_arena());
    glibc.finish(0);
    Seen seen(glibc);
    const GlibcFree found = seen.free();
    EXPECT_LT(found.trimmable, 0x2000U);
    EXPECT_GT(found.top_present, 0U);
}

TEST(GlibcFree, FreePagesThatAreNotPresentAreNotCounted) {
    FakeGlibc glibc;
    glibc.add(0x1000, FakeUse::used);
    const std::uint64_t free = glibc.add(0x9000, FakeUse::in_bin);
    glibc.add(0x1000, FakeUse::used);
    glibc.finish();
    glibc.pages.drop(free + 0x3000);
    glibc.pages.drop(free + 0x4000);
    Seen seen(glibc);
    const GlibcFree found = seen.free();
    EXPECT_EQ(found.bytes, 0x9000U);
    EXPECT_EQ(found.present, 0x7000U);
}

TEST(GlibcFree, ATornListMakesItWalk) {
    FakeGlibc glibc;
    std::vector<std::uint64_t> free;
    for (int i = 0; i < 50; ++i) {
        glibc.add(64, FakeUse::used);
        free.push_back(glibc.add(0x2000, FakeUse::in_bin));
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    glibc.pages.put(free[20] + 16, 0x1234'5678);  // next
    glibc.pages.put(free[30] + 24, 0x1234'5678);  // previous
    Seen seen(glibc);
    EXPECT_GT(seen.free_by(FreeMethod::lists).torn, 0U);
    const GlibcFree found = seen.free();
    EXPECT_EQ(found.method, FreeMethod::walk);
    EXPECT_EQ(found.bytes, 50U * 0x2000);
    EXPECT_EQ(found.torn, 0U) << "the walk was complete";
}

TEST(GlibcFree, ACyclicListEnds) {
    FakeGlibc glibc;
    std::vector<std::uint64_t> free;
    for (int i = 0; i < 50; ++i) {
        glibc.add(64, FakeUse::used);
        free.push_back(glibc.add(0x2000, FakeUse::in_bin));
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    glibc.pages.put(free[20] + 16, free[20]);
    glibc.pages.put(free[20] + 24, free[20]);
    Seen seen(glibc);
    const GlibcFree found = seen.free_by(FreeMethod::lists);
    EXPECT_GT(found.torn, 0U);
    EXPECT_LE(found.bytes, 50U * 0x2000);
}

TEST(GlibcFree, ChunksOfAnImpossibleSizeAreRefused) {
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{16}, ~std::uint64_t{0} & ~std::uint64_t{15},
                                     std::uint64_t{1} << 62, std::uint64_t{0x2008}}) {
        FakeGlibc glibc;
        glibc.add(64, FakeUse::used);
        const std::uint64_t free = glibc.add(0x2000, FakeUse::in_bin);
        glibc.add(64, FakeUse::used);
        glibc.finish();
        glibc.pages.put(free + 8, size | 1);
        Seen seen(glibc);
        const GlibcFree lists = seen.free_by(FreeMethod::lists), best = seen.free();
        EXPECT_EQ(lists.bytes, 0U) << size;
        EXPECT_GT(best.torn, 0U) << size;
        EXPECT_LE(best.present, glibc.heap_end(0) - FakeGlibc::kHeap) << size;
    }
}

TEST(GlibcFree, AWalkContinuesBehindAChunkThatMakesNoSense) {
    FakeGlibc glibc;
    std::vector<std::uint64_t> used;
    for (int i = 0; i < 400; ++i) {
        used.push_back(glibc.add(1024, FakeUse::used));
        glibc.add(1040, FakeUse::in_bin);
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    glibc.pages.put(used[200] + 8, 0x7777'7770);
    Seen seen(glibc);
    const GlibcFree walk = seen.free_by(FreeMethod::walk);
    EXPECT_EQ(walk.method, FreeMethod::walk);
    EXPECT_EQ(walk.torn, 1U);
    EXPECT_NEAR(static_cast<double>(walk.bytes), 400 * 1040, 400 * 1040 * 0.01);
}

TEST(GlibcFree, AHeadThatIsSwappedOutIsCountedAsNotPresent) {
    FakeGlibc glibc;
    std::vector<std::uint64_t> used;
    for (int i = 0; i < 400; ++i) {
        used.push_back(glibc.add(1024, FakeUse::used));
        glibc.add(1040, FakeUse::in_bin);
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    glibc.pages.drop(used[200]);
    Seen seen(glibc);
    EXPECT_GT(seen.free_by(FreeMethod::lists).absent, 0U);
    EXPECT_GT(seen.free().absent, 0U);
}

TEST(GlibcFree, ASampleIsNearTheTruth) {
    FakeGlibc glibc;
    for (int i = 0; i < 4000; ++i) {
        glibc.add(2048, FakeUse::used);
        glibc.add(1024 + 16 * (i * 31 % 64), FakeUse::in_bin);
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    Seen seen(glibc);
    const GlibcFree sample = seen.free_by(FreeMethod::sample);
    const auto wanted = static_cast<double>(glibc.bytes(FakeUse::in_bin));
    EXPECT_EQ(sample.method, FreeMethod::sample);
    EXPECT_TRUE(sample.late) << "an estimate is not complete";
    EXPECT_NEAR(static_cast<double>(sample.present), wanted, 0.05 * wanted);
}

// All lists begin at one end of the heap, and chunks of one size are in one list that is too long to follow.
TEST(GlibcFree, ASampleDoesNotWalkTheWholeHeapForEachWindow) {
    FakeGlibc glibc;
    for (int i = 0; i < 20000; ++i) {
        glibc.add(512, FakeUse::used);
        glibc.add(480, FakeUse::in_bin);
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    Seen seen(glibc);
    const auto found = seen.find();
    glibc.pages.reads = 0;
    const GlibcFree sample = find_glibc_free_by(FreeMethod::sample, *found, {}, seen.memory,
                                                {.deadline = ReadDeadline(kLong), .most_chunks = 100});
    const auto wanted = static_cast<double>(glibc.bytes(FakeUse::in_bin));
    EXPECT_EQ(sample.method, FreeMethod::sample);
    EXPECT_NEAR(static_cast<double>(sample.bytes), wanted, 0.02 * wanted);
    EXPECT_LT(glibc.pages.reads, 5000U);
}

TEST(GlibcFree, MoreChunksThanTheLimitAreNotRemembered) {
    FakeGlibc glibc;
    for (int i = 0; i < 3000; ++i) {
        glibc.add(64, FakeUse::used);
        glibc.add(0x500, FakeUse::in_bin);
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    Seen seen(glibc);
    const auto found = seen.find();
    const FreeLimits limits{.deadline = ReadDeadline(kLong), .most_chunks = 100};
    EXPECT_GT(find_glibc_free_by(FreeMethod::lists, *found, {}, seen.memory, limits).cut_off, 0U);
    EXPECT_EQ(find_glibc_free(*found, {}, seen.memory, limits).bytes, 3000U * 0x500) << "by a walk";
}

TEST(GlibcFree, WithoutTimeTheAnswerSaysSo) {
    FakeGlibc glibc;
    fill(glibc, 0, 100);
    glibc.finish();
    Seen seen(glibc);
    const auto found = seen.find();
    EXPECT_TRUE(find_glibc_free(*found, {}, seen.memory, {.deadline = ReadDeadline(Seconds{0})}).late);
}

}  // namespace glibc_free_test
}  // namespace memscope
