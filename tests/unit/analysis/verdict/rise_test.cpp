// Which points are a rise: those on a line, and not those with one or two jumps.
#include "analysis/verdict/rise.h"

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

TEST(Rise, OneJumpBetweenFlatStretchesIsNone) {
    EXPECT_GE(rises(20, straight, 2.4, {.vague = true}), 50);
    EXPECT_EQ(rises(20, one_jump, 2.4, {.vague = true}), 0);
}

TEST(Rise, TwoJumpsBetweenFlatStretchesAreNoneBelowTeeth) {
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
TEST(Rise, ASmallOneMustBeNearItsLine) {
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

}  // namespace rise_test
}  // namespace memscope
