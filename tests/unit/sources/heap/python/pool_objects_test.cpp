#include "sources/heap/python/pool_objects.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

namespace memscope {
namespace pool_objects_test {

constexpr std::uint64_t kArena = std::uint64_t{1} << 20;
constexpr std::uint64_t kPool = PythonPools::kPool;
constexpr std::uint64_t kMuch = std::uint64_t{1} << 30;

PythonPools pools_at(const std::vector<std::uint64_t>& starts, std::uint64_t size = kArena) {
    Pymalloc found{.pool_size = kPool};
    for (const std::uint64_t start : starts) found.arenas.push_back({start, start + size});
    return PythonPools(found);
}

TEST(PythonPools, AnAddressBelongsToTheArenaThatContainsIt) {
    // Neighbours, arenas that cross a border of 1 MiB, and gaps.
    const std::uint64_t base = 0x7f00'0008'0000;
    const std::vector<std::uint64_t> starts{base, base + kArena, base + 2 * kArena + kPool, base + 40 * kArena};
    const PythonPools pools = pools_at(starts);
    for (std::uint64_t at = base - 2 * kArena; at < base + 44 * kArena; at += kPool / 4) {
        std::size_t expected = PythonPools::kNoArena;
        for (std::size_t i = 0; i < starts.size(); ++i)
            if (at >= starts[i] && at < starts[i] + kArena) expected = i;
        ASSERT_EQ(pools.arena_at(at), expected) << std::hex << at;
        ASSERT_EQ(pools.contains(at), expected != PythonPools::kNoArena);
    }
    for (const std::uint64_t far : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}})
        EXPECT_FALSE(pools.contains(far));
}

TEST(PythonPools, ArenasThatAreFarApartAreFound) {
    const std::uint64_t low = 0x1000'0000'0000, high = 0x7000'0000'0000;
    const PythonPools pools = pools_at({low, high});
    EXPECT_EQ(pools.arena_at(low + 5), 0U);
    EXPECT_EQ(pools.arena_at(high + kArena - 1), 1U);
    EXPECT_FALSE(pools.contains(high + kArena));
    EXPECT_FALSE(pools.contains((low + high) / 2));
}

TEST(PythonPools, WithoutArenasNothingIsInAPool) { EXPECT_FALSE(PythonPools().contains(0x7f00'0000'0000)); }

TEST(PoolObjects, AreNumberedByTheirAddresses) {
    const std::uint64_t first = 0x7f00'0000'0000, second = first + 9 * kArena + kPool;
    for (const std::uint64_t size : {kArena, kArena / 4, kPool * 3}) {
        const PythonPools pools = pools_at({first, second}, size);
        PoolObjects objects(pools, kMuch);
        ASSERT_TRUE(objects.has_room());
        std::map<std::uint64_t, NodeNumber> expected;  // PoolObjects::kLeaf: a leaf
        std::mt19937 random(7);
        NodeNumber last = 0;
        for (const std::uint64_t start : {first, second})
            for (std::uint64_t at = start; at < start + size; at += 16) {
                const auto kind = random() % 5;
                if (kind == 0) {
                    ASSERT_TRUE(objects.add(at));
                    expected[at] = ++last;
                } else if (kind == 1) {
                    objects.add_leaf(at);
                    expected[at] = PoolObjects::kLeaf;
                }
            }
        objects.finish();
        ASSERT_EQ(objects.count(), last);
        for (const std::uint64_t start : {first, second})
            for (std::uint64_t at = start; at < start + size; at += 8) {
                const auto known = expected.find(at);
                const NodeNumber number = known == expected.end() ? 0 : known->second;
                ASSERT_EQ(objects.find(pools.arena_at(at), at), number) << std::hex << at;
                if (number == 0 || number == PoolObjects::kLeaf) continue;
                ASSERT_EQ(objects.address(number), at);
                ASSERT_EQ(objects.arena_of(number), pools.arena_at(at));
            }
    }
}

TEST(PoolObjects, AnObjectIsAddedOnce) {
    const std::uint64_t start = 0x7f00'0000'0000;
    const PythonPools pools = pools_at({start});
    PoolObjects objects(pools, kMuch);
    EXPECT_TRUE(objects.add(start + 160));
    EXPECT_FALSE(objects.add(start + 160));
    EXPECT_FALSE(objects.add(start + 32)) << "not in the order of addresses";
    EXPECT_FALSE(objects.add(start + kArena)) << "not in an arena";
    EXPECT_FALSE(objects.add(start + 168)) << "not aligned";
    EXPECT_EQ(objects.count(), 1U);
}

TEST(PoolObjects, StayEmptyIfThereIsNoRoomForTheirBits) {
    const PythonPools pools = pools_at({0x7f00'0000'0000});
    PoolObjects objects(pools, 1000);
    EXPECT_FALSE(objects.has_room());
    EXPECT_FALSE(objects.add(0x7f00'0000'0100));
    EXPECT_EQ(objects.find(0, 0x7f00'0000'0100), 0U);
    EXPECT_FALSE(PoolObjects(PythonPools(), kMuch).has_room());
}

}  // namespace pool_objects_test
}  // namespace memscope
