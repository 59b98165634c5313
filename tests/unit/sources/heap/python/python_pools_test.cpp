#include "sources/heap/python/python_pools.h"

#include <gtest/gtest.h>

#include "python_pools_at.h"

namespace memscope {
namespace python_pools_test {

using namespace python_pools_at;

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

}  // namespace python_pools_test
}  // namespace memscope
