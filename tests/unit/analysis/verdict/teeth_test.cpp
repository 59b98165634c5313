// Sawtooths whose teeth are sampled rarely.
#include "analysis/verdict/teeth.h"

#include <cmath>
#include <gmock/gmock.h>

#include "curves.h"

namespace memscope {
namespace teeth_test {

constexpr double kHeight = 4 * kGiB;
constexpr double kPeriod = 170;

// Teeth that are 153 to 187 s long, above a floor.
std::function<double(double)> uneven_teeth(double until, std::function<double(double)> floor) {
    std::vector<double> falls;
    std::uint32_t random = 1;
    for (double t = -50; t < until + 2 * kPeriod;) {
        falls.push_back(t);
        random = random * 1103515245U + 12345U;
        t += kPeriod * (0.9 + 0.2 * ((random >> 16U) % 1000) / 1000);
    }
    return [falls, floor = std::move(floor)](double t) {
        const double fell = *std::prev(std::ranges::upper_bound(falls, t));
        return floor(t) + kHeight * (t - fell) / kPeriod;
    };
}

std::vector<ToothBottom> bottoms_of(const std::function<double(double)>& floor) {
    return find_tooth_bottoms(drawn(5000, 15, uneven_teeth(5000, floor)).bins(), kHeight, 1e-5 * kGiB);
}

double flat(double /*t*/) { return 10 * kGiB; }

TEST(Teeth, TheirBoundsContainTheFloor) {
    const auto bottoms = bottoms_of(flat);
    ASSERT_GE(bottoms.size(), 25U);
    for (const ToothBottom& bottom : bottoms) {
        EXPECT_LE(bottom.least, 10.0001 * kGiB) << bottom.at;
        EXPECT_GE(bottom.most, 9.9999 * kGiB) << bottom.at;
        EXPECT_NEAR(bottom.most - bottom.least, kHeight * 15 / kPeriod, 0.01 * kGiB);
    }
    EXPECT_LE(least_slope(bottoms).value(), 0);
    EXPECT_EQ(fewest_jumps(bottoms), 0U);
}

TEST(Teeth, ADriftingPhaseAgreesWithAFlatFloor) {
    // The samples are 10 s apart and the teeth 100.1 s, so the phase of the samples moves by 0.1 s from tooth to tooth.
    const auto teeth = [](double t) { return kGiB * (10 + 4 * std::fmod(t, 100.1) / 100.1); };
    const auto bottoms = find_tooth_bottoms(drawn(5000, 10, teeth).bins(), kHeight, 1e-5 * kGiB);
    ASSERT_GE(bottoms.size(), 40U);
    EXPECT_GT(std::abs(bottoms.back().middle() - bottoms.front().middle()), 0.1 * kGiB) << "the bottoms seem to move";
    EXPECT_LE(least_slope(bottoms).value(), 0);
}

TEST(Teeth, ARisingFloorIsShownByTheirBounds) {
    const double slope = 0.8 * kGiB / 5000;
    const auto bottoms = bottoms_of([&](double t) { return 10 * kGiB + slope * t; });
    const auto least = least_slope(bottoms);
    ASSERT_TRUE(least);
    EXPECT_GT(*least, 0.5 * slope);
    EXPECT_LE(*least, slope);
    EXPECT_GE(fewest_jumps(bottoms), 3U);
    EXPECT_FALSE(may_be_flat_since(bottoms, 2500));
}

TEST(Teeth, OneJumpIsCountedAsOne) {
    EXPECT_EQ(fewest_jumps(bottoms_of([](double t) { return kGiB * (t < 2500 ? 10 : 10.8); })), 1U);
}

TEST(Teeth, AFloorThatStoppedRisingMayBeFlat) {
    const auto bottoms = bottoms_of([](double t) { return kGiB * (10 + 0.8 * std::min(t, 2000.0) / 2000); });
    EXPECT_TRUE(may_be_flat_since(bottoms, 2200));
    EXPECT_FALSE(may_be_flat_since(bottoms, 4000)) << "a line until then does not agree";
}

TEST(Teeth, AToothWithAHiddenFallIsLeftOut) {
    const auto teeth = uneven_teeth(5000, flat);
    Series series;
    for (double t = 0; t <= 5000; t += 15)
        if (t < 2000 || t > 2230) series.add(Seconds(t), Bytes{static_cast<std::uint64_t>(teeth(t))});
    const auto bottoms = find_tooth_bottoms(series.bins(), kHeight, 1e-5 * kGiB);
    for (const ToothBottom& bottom : bottoms) EXPECT_LE(bottom.least, 10.0001 * kGiB) << bottom.at;
    EXPECT_LE(least_slope(bottoms).value(), 0);
}

TEST(Teeth, ALeakBelowRarelySampledTeethIsDetected) {
    const auto leak = [](double t) { return kGiB * (10 + 0.4 * t / 5000); };
    EXPECT_EQ(judge(drawn(5000, 15, uneven_teeth(5000, leak))).verdict, Verdict::leaking);
    EXPECT_EQ(judge(drawn(5000, 15, uneven_teeth(5000, flat))).verdict, Verdict::spiky);
    for (const double jump : {0.2, 0.4, 0.8}) {
        const auto floor = [&](double t) { return kGiB * (t < 3000 ? 10 : 10 + jump); };
        EXPECT_NE(judge(drawn(5000, 15, uneven_teeth(5000, floor))).verdict, Verdict::leaking) << jump;
    }
}

}  // namespace teeth_test
}  // namespace memscope
