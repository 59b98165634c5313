#include "model/reclaim.h"

#include <gtest/gtest.h>

namespace memscope {
namespace reclaim_test {

ReclaimStalls stalls(double memcg, double direct, std::uint64_t count) {
    return {.memcg = Seconds(memcg), .direct = Seconds(direct), .stalls = count};
}

// Counts as a tick does for a target that is inside another target.
void count(const ReclaimStalls& counted, StallCounter& target, StallCounter& around) {
    const ReclaimStalls rise = target.rise(counted);
    target.add(rise);
    around.add(rise);
}

TEST(StallCounter, IsZeroWithoutStalls) {
    EXPECT_EQ(StallCounter{}.sum().total(), Seconds{});
    EXPECT_EQ(StallCounter{}.sum().stalls, 0U);
}

TEST(StallCounter, CountsEachStallOnceForEveryTargetAroundIt) {
    StallCounter outer, inner;
    count(stalls(1, 0.5, 3), inner, outer);
    outer.add(outer.rise(stalls(2, 0, 1)));
    count(stalls(1, 0.5, 3), inner, outer);  // nothing new
    count(stalls(4, 0.5, 5), inner, outer);
    EXPECT_EQ(inner.sum().total(), Seconds{4.5});
    EXPECT_EQ(inner.sum().stalls, 5U);
    EXPECT_EQ(outer.sum().memcg, Seconds{6});
    EXPECT_EQ(outer.sum().direct, Seconds{0.5});
    EXPECT_EQ(outer.sum().stalls, 6U);
}

}  // namespace reclaim_test
}  // namespace memscope
