#include "model/memory.h"

#include <gtest/gtest.h>

namespace memscope {
namespace memory_test {

constexpr Bytes gib(std::uint64_t n) { return {n << 30U}; }

TEST(NearestLimit, IsTheLimitWithTheLeastHeadroom) {
    EXPECT_FALSE(nearest_limit({}));
    const auto nearest = nearest_limit({{"own", gib(16), gib(10)}, {"jobs", gib(64), gib(60)}, {"host", gib(256), {}}});
    ASSERT_TRUE(nearest);
    EXPECT_EQ(nearest->owner, "jobs");
    EXPECT_EQ(nearest->limit, gib(64));
    EXPECT_EQ(nearest->headroom, gib(4));
    EXPECT_EQ(nearest->held(), gib(60));
    EXPECT_DOUBLE_EQ(nearest->held_share(), 60.0 / 64);
}

TEST(NearestLimit, AnExceededLimitHasNoHeadroom) {
    const auto nearest = nearest_limit({{"own", gib(16), gib(20)}});
    EXPECT_EQ(nearest->headroom, Bytes{});
    EXPECT_DOUBLE_EQ(nearest->held_share(), 1);
    EXPECT_EQ(EffectiveLimit{}.held_share(), 0) << "a limit of 0 has a held share of 0";
}

TEST(HeldByTarget, CountsAllMemoryUnderItsOwnLimit) {
    MemoryState memory{.unreclaimable = gib(4), .swap = gib(2)};
    EXPECT_EQ(held_by_target(memory), Bytes{}) << "there is no limit";
    memory.effective = EffectiveLimit{"own", gib(16), gib(10)};
    EXPECT_EQ(held_by_target(memory), gib(6));
}

TEST(HeldByTarget, CountsUnreclaimableMemoryAndSwapUnderTheHostLimit) {
    const MemoryState memory{
        .unreclaimable = gib(4), .swap = gib(2), .effective = EffectiveLimit{"host", gib(64), gib(24)}};
    EXPECT_EQ(held_by_target(memory), gib(6));
}

TEST(HeldByTarget, SubtractsOtherProcessesIfTheTargetIsNoCgroup) {
    const MemoryState memory{.usage = gib(20),
                             .unreclaimable = gib(18),
                             .effective = EffectiveLimit{"user.slice", gib(64), gib(46)},
                             .measured_at = "user.slice",
                             .others = gib(15)};
    EXPECT_EQ(held_by_target(memory), gib(5));
}

}  // namespace memory_test
}  // namespace memscope
