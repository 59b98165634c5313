#include <cmath>
#include <gtest/gtest.h>

#include "analysis/limits/limits.h"

namespace memscope {
namespace limits_returned_tops_test {

constexpr Bytes gib(std::uint64_t n) { return {n << 30U}; }

struct Sized {
    ReturnedTops tops{};
    Seconds now{1000};

    void at(std::initializer_list<std::uint64_t> sizes) {
        for (const std::uint64_t size : sizes) tops.add(now += Seconds{10}, gib(size));
    }
};

TEST(ReturnedTops, TheLowerOfTwoPeaksIsUsual) {
    Sized sized;
    sized.at({60, 70, 80, 90, 60});
    EXPECT_FALSE(sized.tops.usual()) << "once is not yet usual";
    sized.at({60, 75, 88, 60});
    EXPECT_EQ(sized.tops.usual(), gib(88)) << "the lower of the two";
    sized.at({92, 60});
    EXPECT_EQ(sized.tops.usual(), gib(90));
}

TEST(ReturnedTops, APeakCountsOnlyAfterItsFall) {
    Sized sized;
    sized.at({60, 90, 60, 90, 90, 89});
    EXPECT_FALSE(sized.tops.usual());
}

TEST(ReturnedTops, AFallInSeveralStepsIsOneTop) {
    Sized sized;
    sized.at({60, 90, 80, 70, 60, 50, 40});
    EXPECT_FALSE(sized.tops.usual());
}

TEST(ReturnedTops, IgnoresNoise) {
    Sized sized;
    for (int i = 0; i < 100; ++i) sized.at({100, 97, 99, 96});
    EXPECT_FALSE(sized.tops.usual());
}

TEST(ReturnedTops, TopsOfLongAgoAreForgotten) {
    Sized sized;
    sized.at({60, 90, 60, 90, 60});
    ASSERT_TRUE(sized.tops.usual());
    sized.now += std::chrono::minutes(31);
    sized.at({60});
    EXPECT_FALSE(sized.tops.usual());
}

TEST(ReturnedTops, KeepsTheUsualPeakAfterManyPeaks) {
    Sized sized;
    for (int i = 0; i < 1000; ++i) {
        sized.tops.add(sized.now += Seconds{0.1}, gib(60));
        sized.tops.add(sized.now += Seconds{0.1}, gib(90));
    }
    EXPECT_EQ(sized.tops.usual(), gib(90));
    sized.tops.clear();
    EXPECT_FALSE(sized.tops.usual());
}

}  // namespace limits_returned_tops_test
}  // namespace memscope
