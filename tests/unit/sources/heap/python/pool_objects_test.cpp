#include "sources/heap/python/pool_objects.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

#include "python_pools_at.h"

namespace memscope {
namespace pool_objects_test {

using namespace python_pools_at;

constexpr std::uint64_t kMuch = std::uint64_t{1} << 30;

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
