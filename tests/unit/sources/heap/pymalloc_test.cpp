#include "sources/heap/pymalloc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_heap.h"

namespace memscope {
namespace pymalloc_test {

constexpr Seconds kLong{60};
constexpr std::uint64_t kLibrary = 0x7f00'0000'0000;
constexpr std::uint64_t kArray = 0x5555'0000'1010;
constexpr std::uint64_t kArenas = 0x7e00'0000'0000;

// An interpreter: a word in its data leads to the array of arenas.
struct FakePymalloc {
    explicit FakePymalloc(std::uint64_t pool_bytes = 16384) : pool(pool_bytes) {
        pages.touch({kArray - 16, kArray + std::uint64_t{64} * 48});
        pages.put(kArray - 8, (64 * 48 + 16) | 1);  // head of malloc's chunk
        data.words[10] = kArray;
    }
    void add_arena(std::size_t index) {
        const std::uint64_t entry = kArray + index * 48;
        pages.put(entry, arena(index));
        pages.put(entry + 8, arena(index));
        pages.put(entry + 16, std::uint64_t{64} << 32);  // nfreepools 0, ntotalpools 64
    }
    std::uint64_t arena(std::size_t index) const { return kArenas + index * 64 * pool; }
    void add_pool(std::size_t arena_index, std::size_t index, std::uint32_t size_class, std::uint32_t used) {
        const std::uint64_t at = arena(arena_index) + index * pool, block = (std::uint64_t{size_class} + 1) * 16;
        pages.touch({at, at + pool});
        pages.put(at, used);
        pages.put(at + 32, arena_index | std::uint64_t{size_class} << 32);
        pages.put(at + 40, std::uint64_t{48} | (pool - block) << 32);  // next and last offset
    }
    std::optional<Pymalloc> read(MallocHeads heads = MallocHeads::glibc) {
        const PresentPages present = pages.present();
        PresentMemory memory(pages, present);
        return read_pymalloc({&data, 1}, heads, memory, ReadDeadline(kLong));
    }

    FakePages pages{};
    std::uint64_t pool;
    LibraryData data{.base = kLibrary, .words = std::vector<std::uint64_t>(512)};
};

TEST(Pymalloc, UsedBlocksAreLiveAndTheRestOfAPoolIsFree) {
    for (const std::uint64_t pool : {std::uint64_t{16384}, std::uint64_t{4096}}) {
        FakePymalloc python(pool);
        python.add_arena(0);
        python.add_pool(0, 0, 3, 10);  // blocks of 64 bytes
        python.add_pool(0, 1, 31, 2);  // blocks of 512 bytes
        python.add_pool(0, 2, 5, 0);   // a free pool
        const auto found = python.read();
        ASSERT_TRUE(found) << pool;
        EXPECT_EQ(found->pool_size, pool);
        EXPECT_EQ(found->live, 10U * 64 + 2 * 512);
        EXPECT_EQ(found->free_pools, pool);
        EXPECT_EQ(found->free_blocks, 2 * pool - found->live - std::uint64_t{96});
        EXPECT_THAT(found->arenas, testing::ElementsAre(HeapRange{kArenas, kArenas + 64 * pool}));
    }
}

TEST(Pymalloc, TheArrayIsFoundWithoutTheHeadsOfGlibc) {
    FakePymalloc python;
    python.pages.put(kArray - 8, 0x1234'5678'9abc'def0);
    python.add_arena(0);
    python.add_arena(1);
    python.add_pool(0, 0, 3, 10);
    python.add_pool(1, 0, 3, 10);
    EXPECT_FALSE(python.read(MallocHeads::glibc));
    const auto found = python.read(MallocHeads::unknown);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->arenas.size(), 2U);
}

TEST(Pymalloc, APoolWhoseHeadIsTornIsCounted) {
    FakePymalloc python;
    python.add_arena(0);
    python.add_pool(0, 0, 3, 10);
    python.add_pool(0, 1, 3, 5000);  // more blocks than fit
    python.add_pool(0, 2, 99, 1);    // no such size class
    const auto found = python.read();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->unread_pools, 2U);
    EXPECT_EQ(found->live, 640U);
}

TEST(Pymalloc, ArenasThatOverlapAreTakenOnce) {
    FakePymalloc python;
    python.add_arena(0);
    python.add_pool(0, 0, 3, 10);
    for (const std::size_t index : {1, 2}) {
        python.add_arena(index);
        python.pages.put(kArray + index * 48, python.arena(0) + 0x4000);
        python.pages.put(kArray + index * 48 + 8, python.arena(0) + 0x4000);
    }
    const auto found = python.read();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->arenas.size(), 1U);
    EXPECT_EQ(found->live, 640U);
}

TEST(Pymalloc, IgnoresPointersThatLeadToNoArenas) {
    FakePymalloc python;
    python.pages.put(kArray, 0x7777'7777'7001);  // no address of an arena
    EXPECT_FALSE(python.read());
    FakePymalloc without;
    without.data.words[10] = 0;
    without.add_arena(0);
    without.add_pool(0, 0, 3, 10);
    EXPECT_FALSE(without.read());
}

}  // namespace pymalloc_test
}  // namespace memscope
