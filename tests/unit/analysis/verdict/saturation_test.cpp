#include "analysis/verdict/saturation.h"

#include <cmath>
#include <gtest/gtest.h>

#include "curves.h"

namespace memscope {
namespace saturation_test {

TEST(Saturation, MeasuresRemainingAndLastingGrowth) {
    const auto curve = [](double lasting) {
        return find_floor(
            drawn_bins(3000, 5, [=](double t) { return kGiB * (2 + 4 * (1 - std::exp(-t / 1000)) + lasting * t); }));
    };
    const auto slowing = find_saturation(curve(0), 0);
    ASSERT_TRUE(slowing);
    EXPECT_FALSE(slowing->lasts);
    EXPECT_NEAR(slowing->to_come, 4 * kGiB * std::exp(-3), 0.05 * kGiB);
    const auto lasting = find_saturation(curve(0.001), 0);
    ASSERT_TRUE(lasting);
    EXPECT_TRUE(lasting->lasts);
    EXPECT_NEAR(lasting->lasting, 0.001 * kGiB, 0.0002 * kGiB);
    EXPECT_FALSE(find_saturation(find_floor(drawn_bins(3000, 5, [](double t) { return kGiB * (2 + t / 1000); })), 0));
}

TEST(Saturation, ASquareRootSlowsDown) {
    const auto slows = [](const std::function<double(double)>& curve) {
        return slowing_by_thirds(find_floor(drawn_bins(3000, 5, curve)), 0).has_value();
    };
    EXPECT_TRUE(slows([](double t) { return kGiB * (2 + std::sqrt(t) / 20); }));
    EXPECT_FALSE(slows([](double t) { return kGiB * (2 + t / 1000); }));
}

}  // namespace saturation_test
}  // namespace memscope
