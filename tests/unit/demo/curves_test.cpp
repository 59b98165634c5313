#include "demo/curves.h"

#include <gtest/gtest.h>

namespace memscope {
namespace curves_test {

constexpr Bytes kFloor = mebibytes(100);

// Sizes every quarter of a second, as the demo processes read them.
std::vector<Bytes> sampled(const Curve& curve, Seconds until) {
    std::vector<Bytes> sizes;
    for (Seconds t{}; t <= until; t += Seconds{0.25}) sizes.push_back(curve(t));
    return sizes;
}

TEST(Curves, AConstantIsTheSameAtAllTimes) {
    for (const Bytes size : sampled(constant(kFloor), Seconds{60})) EXPECT_EQ(size, kFloor);
}

TEST(Curves, BeforeTheStartHaveTheFirstValue) {
    const Seconds before{-5};
    EXPECT_EQ(warming_up({1}, kFloor, Seconds{20})(before).n, 1U);
    EXPECT_EQ(leaking(mebibytes(8), Seconds{0})(before).n, 0U);
    EXPECT_EQ(spiking(kFloor, {1}, Seconds{8}, Seconds{2})(before), kFloor);
    EXPECT_EQ(stepping(kFloor, {1}, Seconds{8})(before), kFloor);
}

TEST(Curves, AWarmUpSlowsDownAndStops) {
    const Curve curve = warming_up(mebibytes(48), mebibytes(288), Seconds{20});
    const auto sizes = sampled(curve, Seconds{60});
    EXPECT_EQ(sizes.front(), mebibytes(48));
    std::uint64_t last_rise = sizes[1].n - sizes[0].n;
    EXPECT_GT(last_rise, 0U);
    for (std::size_t i = 2; i <= 80; ++i) {
        ASSERT_GE(sizes[i], sizes[i - 1]) << i;
        const std::uint64_t rise = sizes[i].n - sizes[i - 1].n;
        EXPECT_LE(rise, last_rise + 1) << i;  // 1: of rounding
        last_rise = rise;
    }
    EXPECT_GT((sizes[20] - sizes[0]).n, 5 * (sizes[80] - sizes[60]).n);  // the first quarter and the last one
    for (std::size_t i = 80; i < sizes.size(); ++i) EXPECT_EQ(sizes[i], mebibytes(288)) << i;
}

TEST(Curves, ALeakStartsLateAndGrowsByTheSameEverySecond) {
    const Curve curve = leaking(mebibytes(8), Seconds{5});
    EXPECT_EQ(curve(Seconds{5}).n, 0U);
    for (int second = 5; second < 60; ++second)
        EXPECT_EQ(curve(Seconds{second + 1.0}) - curve(Seconds{second + 0.0}), mebibytes(8)) << second;
}

TEST(Curves, ASpikeComesAtTheEndOfEachPeriodAndReturnsToTheFloor) {
    const Curve curve = spiking(kFloor, mebibytes(120), Seconds{8}, Seconds{2});
    for (int period = 0; period < 6; ++period) {
        const Seconds start{8.0 * period};
        EXPECT_EQ(curve(start), kFloor);
        EXPECT_EQ(curve(start + Seconds{5.99}), kFloor);
        EXPECT_EQ(curve(start + Seconds{6}), mebibytes(220));
        EXPECT_EQ(curve(start + Seconds{7.99}), mebibytes(220));
    }
    for (const Bytes size : sampled(curve, Seconds{60})) EXPECT_TRUE(size == kFloor || size == mebibytes(220));
}

TEST(Curves, AStepStaysAndTheNextOneIsAsHigh) {
    const Curve curve = stepping(kFloor, mebibytes(24), Seconds{8});
    EXPECT_EQ(curve(Seconds{7.99}), kFloor);
    for (std::uint64_t step = 1; step <= 6; ++step) {
        EXPECT_EQ(curve(Seconds{8.0 * static_cast<double>(step)}), kFloor + mebibytes(24 * step));
        EXPECT_EQ(curve(Seconds{8.0 * static_cast<double>(step) + 7.99}), kFloor + mebibytes(24 * step));
    }
}

TEST(Curves, CurvesAdd) {
    const Curve curve = constant(mebibytes(3)) + leaking(mebibytes(1), Seconds{2});
    EXPECT_EQ(curve(Seconds{1}), mebibytes(3));
    EXPECT_EQ(curve(Seconds{6}), mebibytes(7));
}

}  // namespace curves_test
}  // namespace memscope
