#include "sources/heap/glibc_arenas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "glibc_reading.h"
#include "support/fake_heap.h"

namespace memscope {
namespace glibc_arenas_test {

using namespace glibc_reading;

// Arenas with false data

TEST(GlibcArenas, ARingThatDoesNotComeBackIsRefused) {
    FakeGlibc glibc;
    glibc.add(64, FakeUse::used);
    glibc.add(64, FakeUse::used, glibc.add_arena());
    glibc.finish();
    glibc.pages.put(glibc.bin_address(1, 1) + 2048, glibc.arena_address(1));  // next: itself
    Seen seen(glibc);
    EXPECT_FALSE(seen.find());
}

TEST(GlibcArenas, ARingThatLeadsOutOfMemoryIsRefused) {
    for (const std::uint64_t next :
         {std::uint64_t{0}, std::uint64_t{8}, ~std::uint64_t{0} & ~std::uint64_t{7}, FakeGlibc::kHeap}) {
        FakeGlibc glibc;
        glibc.add(64, FakeUse::used);
        glibc.finish();
        glibc.pages.put(glibc.bin_address(1) + 2048, next);
        Seen seen(glibc);
        EXPECT_FALSE(seen.find()) << next;
    }
}

TEST(GlibcArenas, AnArenaWithAnImpossibleSizeIsInconsistent) {
    FakeGlibc glibc;
    fill(glibc, 0, 10);
    glibc.finish();
    glibc.pages.put(glibc.bin_address(1) + 2072, std::uint64_t{1} << 60);  // system_mem
    Seen seen(glibc);
    const auto found = seen.find();
    ASSERT_TRUE(found);
    EXPECT_EQ(count_inconsistent_arenas(*found), 1U);
    EXPECT_LE(seen.free().present, glibc.heap_end(0) - FakeGlibc::kHeap);
}

TEST(GlibcArenas, AHeapThatPointsBackToItselfIsTakenOnce) {
    FakeGlibc glibc;
    glibc.add(64, FakeUse::used);
    const std::size_t other = glibc.add_arena();
    glibc.add(64, FakeUse::used, other);
    glibc.finish();
    const std::uint64_t heap = FakeGlibc::kOtherHeaps + (other << 26);
    glibc.pages.put(heap + 8, heap);                                              // previous
    glibc.pages.put(glibc.bin_address(1, other) + 2072, std::uint64_t{1} << 50);  // system_mem
    Seen seen(glibc);
    const auto found = seen.find();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->arenas[other].heaps.size(), 1U);
}

TEST(GlibcArenas, MemoryWithoutBinsIsNoArena) {
    FakePages pages;
    pages.touch({FakeGlibc::kLibrary, FakeGlibc::kLibrary + 0x8000});
    const PresentPages present = pages.present();
    PresentMemory memory(pages, present);
    const LibraryData zeros{.base = FakeGlibc::kLibrary, .words = std::vector<std::uint64_t>(4096)};
    EXPECT_FALSE(find_glibc_malloc({&zeros, 1}, std::nullopt, memory, {}, ReadDeadline(kLong)));
}

// Blocks that malloc maps one by one

TEST(GlibcArenas, MappedBlocksAreFoundAtTheStartOfMappingsAndBehindOtherMemory) {
    constexpr std::uint64_t kFirst = 0x7d00'0000'0000, kSecond = 0x7d10'0000'0000;
    FakeGlibc glibc;
    glibc.add(64, FakeUse::used);
    glibc.mmapped = 0x30000;
    glibc.finish();
    const auto map = [&](std::uint64_t start, std::uint64_t bytes) {
        MappedRange range;
        range.start = start;
        range.end = start + bytes;
        range.readable = range.writable = true;
        glibc.maps.ranges.insert(glibc.maps.ranges.begin() + 1, range);
        glibc.pages.touch({start, start + bytes});
    };
    map(kSecond, 0x18000);
    map(kFirst, 0x20000);
    glibc.pages.put(kFirst + 8, 0x10000 | kChunkIsMapped);  // two side by side
    glibc.pages.put(kFirst + 0x10000 + 8, 0x10000 | kChunkIsMapped);
    glibc.pages.put(kSecond, 0x1234);  // something else before the third
    glibc.pages.put(kSecond + 0x8000 + 8, 0x10000 | kChunkIsMapped);
    Seen seen(glibc);
    const auto found = seen.find();
    const auto blocks = find_mapped_blocks(*found, seen.memory, glibc.maps, {}, ReadDeadline(kLong));
    EXPECT_THAT(blocks,
                testing::ElementsAre(HeapRange{kFirst, kFirst + 0x10000}, HeapRange{kFirst + 0x10000, kFirst + 0x20000},
                                     HeapRange{kSecond + 0x8000, kSecond + 0x18000}));
}

TEST(GlibcArenas, VersionsAreParsed) {
    EXPECT_EQ(parse_glibc_version("2.36"), (GlibcVersion{2, 36}));
    EXPECT_EQ(parse_glibc_version("2.43.9000"), (GlibcVersion{2, 43}));
    for (const char* text : {"", "2", "x.y", "99999999999.1"}) EXPECT_FALSE(parse_glibc_version(text)) << text;
}

}  // namespace glibc_arenas_test
}  // namespace memscope
