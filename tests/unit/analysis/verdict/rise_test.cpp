// Which points are a rise: those on a line, and not those with one or two jumps.
#include "analysis/verdict/rise.h"

#include <cmath>
#include <gmock/gmock.h>

#include "curves.h"
#include "series/chance.h"

namespace memscope {
namespace rise_test {

constexpr double kJumpingLevel = 100;

// A floor with one point a minute. `shape`: bytes at 0 (the first point) to 1 (the last). The points differ from it by
// at most half of `noise`.
Floor noisy_floor(std::size_t points, const std::function<double(double)>& shape, double noise, std::uint64_t seed) {
    made::Chance chance(seed);
    std::vector<double> at;
    std::vector<double> bytes;
    for (std::size_t i = 0; i < points; ++i) {
        at.push_back(60.0 * static_cast<double>(i));
        bytes.push_back(shape(static_cast<double>(i) / static_cast<double>(points - 1)) +
                        noise * (chance.unit() - 0.5));
    }
    return floor_through(std::move(at), std::move(bytes), 0, kJumpingLevel);
}

// How many of a hundred floors with this shape are a rise.
int rises(std::size_t points, const std::function<double(double)>& shape, double noise, Bar bar = {}) {
    bar.level = kJumpingLevel;
    bar.shortest = 240;
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed)
        count += find_rise(noisy_floor(points, shape, noise, seed), 0, bar) ? 1 : 0;
    return count;
}

double straight(double part) { return kJumpingLevel + 3 * part; }
double one_jump(double part) { return kJumpingLevel + (part > 0.5 ? 3 : 0); }
double two_jumps(double part) { return kJumpingLevel + (part > 0.4 ? 1.65 : 0) + (part > 0.75 ? 1.35 : 0); }

TEST(Rise, OneJumpInANoisyFloorIsNoRise) {
    EXPECT_GE(rises(20, straight, 2.4, {.vague = true}), 50);
    EXPECT_EQ(rises(20, one_jump, 2.4, {.vague = true}), 0);
}

TEST(Rise, TwoJumpsBelowTeethAreNoRise) {
    for (const bool vague : {false, true}) {
        EXPECT_GE(rises(40, straight, 1.2, {.vague = vague, .teeth = true}), 90) << vague;
        EXPECT_EQ(rises(40, two_jumps, 1.2, {.vague = vague, .teeth = true}), 0) << vague;
    }
}

TEST(Rise, JumpsFitAFloorThatJumpedBetterThanALine) {
    const auto jumped = [](const std::function<double(double)>& shape) {
        int count = 0;
        for (std::uint64_t seed = 1; seed <= 100; ++seed)
            count += jumps_fit_better(noisy_floor(40, shape, 1.2, seed)) ? 1 : 0;
        return count;
    };
    EXPECT_EQ(jumped(one_jump), 100);
    EXPECT_GE(jumped(two_jumps), 95);
    EXPECT_LE(jumped(straight), 5);
}

// Memory that wanders often rises by so little, but then it is seldom near a line.
TEST(Rise, ASmallRiseMustHaveLittleScatter) {
    const auto rise = [](double percent) {
        return [=](double part) { return kJumpingLevel * (1 + percent / 100 * part); };
    };
    EXPECT_EQ(rises(40, rise(1.15), 0.7), 0);
    EXPECT_GE(rises(40, rise(1.3), 0.2), 90) << "near the line";
    EXPECT_GE(rises(40, rise(2.6), 1.4), 70) << "as far from the line, but not small";
}

TEST(Rise, AJumpFromADipOrToAPeakIsNoStep) {
    const auto with = [](std::size_t odd, double by) {
        Floor floor = noisy_floor(60, [](double part) { return kJumpingLevel + (part > 0.5 ? 3 : 0); }, 0.1, 1);
        floor.bytes[odd] += by;
        return find_steps(floor, 0);
    };
    ASSERT_EQ(with(10, 0).size(), 1U);
    EXPECT_NEAR(with(10, 0)[0].at, 30 * 60, 60);
    EXPECT_EQ(with(10, -2).size(), 1U) << "a dip";
    EXPECT_EQ(with(45, 2).size(), 1U) << "a peak";
}

TEST(Rise, GrowthDuringAGapIsNoJump) {
    const Bar bar{.level = 4 * kGiB, .shortest = 240};
    const auto with_gap = [](const std::function<double(double)>& bytes) {
        Series series;
        for (double t = 0; t <= 1500; t += 5)
            if (t < 200 || t > 1000) series.add(Seconds(t), Bytes{static_cast<std::uint64_t>(bytes(t))});
        return find_floor(series.bins());
    };
    EXPECT_TRUE(find_rise(with_gap([](double t) { return kGiB * (4 + t / 3600); }), 0, bar));
    EXPECT_FALSE(find_rise(with_gap([](double t) { return kGiB * (t < 600 ? 4 : 5); }), 0, bar));
}

TEST(Rise, OneJumpIsNoRise) {
    const Bar bar{.level = 4 * kGiB, .shortest = 240};
    const Floor jump = find_floor(drawn_bins(3600, 5, [](double t) { return kGiB * (t < 1800 ? 4 : 5); }));
    EXPECT_FALSE(find_rise(jump, 0, bar));
    const Floor steady = find_floor(drawn_bins(3600, 5, [](double t) { return kGiB * (4 + t / 3600); }));
    const auto rise = find_rise(steady, 0, bar);
    ASSERT_TRUE(rise);
    EXPECT_NEAR(rise->slope * 3600, kGiB, 0.01 * kGiB);
    EXPECT_FALSE(rise->stairs);
}

TEST(Rise, MustGoOnAfterTheBudget) {
    const Floor ended = find_floor(drawn_bins(1400, 1, through({{0, kGiB}, {1190, 6 * kGiB}, {1400, 6 * kGiB}})));
    EXPECT_FALSE(find_rise(ended, 0, {.level = 6 * kGiB, .shortest = 240, .budget_ends = 1200, .least_after = 120}));
}

TEST(Steps, AreFoundWithPeriodHeightAndStart) {
    const auto bins = drawn_bins(6000, 5, [](double t) { return kGiB * (4 + 0.5 * std::floor(t / 1000)); });
    const Floor floor = find_floor(bins);
    const auto steps = find_steps(floor, 0);
    ASSERT_GE(steps.size(), 5U);
    const auto stairs = find_staircase(floor, 0, steps);
    ASSERT_TRUE(stairs);
    const Staircase sharp = sharpened(*stairs, floor, bins);
    EXPECT_NEAR(sharp.period, 1000, 5);
    EXPECT_NEAR(sharp.height, 0.5 * kGiB, 0.01 * kGiB);
    EXPECT_NEAR(sharp.first_at, 1000, 5);
}

}  // namespace rise_test
}  // namespace memscope
