#include "analysis/verdict/floor.h"

#include <cmath>
#include <gtest/gtest.h>

#include "curves.h"

namespace memscope {
namespace floor_test {

TEST(Floor, IgnoresSpikes) {
    const Floor floor =
        find_floor(drawn_bins(3600, 5, [](double t) { return kGiB * (6 + (std::fmod(t, 300) < 60 ? 4 : 0)); }));
    for (const double bytes : floor.bytes) EXPECT_NEAR(bytes, 6 * kGiB, 0.001 * kGiB);
}

TEST(Floor, FollowsTheBottomsOfTeeth) {
    const Floor floor =
        find_floor(drawn_bins(7200, 5, [](double t) { return kGiB * (6 + t / 7200 + 2 * std::fmod(t, 450) / 450); }));
    EXPECT_NEAR(floor.line_since(0).slope * 7200, kGiB, 0.1 * kGiB);
}

TEST(Segments, AKinkIsWhereTwoLinesMeet) {
    const Floor floor = find_floor(drawn_bins(3600, 5, through({{0, kGiB}, {1200, 3 * kGiB}, {3600, 3 * kGiB}})));
    const auto segments = find_segments(floor);
    ASSERT_GE(segments.size(), 2U);
    EXPECT_NEAR(floor.at[segments.back().from], 1200, 60);
    EXPECT_NEAR(segments.back().slope, 0, 1);
}

TEST(Zigzag, SmallMovesDoNotCount) {
    const auto bins =
        drawn_bins(40, 1, [](double t) { return 100 + (std::fmod(t, 20) < 10 ? 50 : 0) + std::fmod(t, 2); });
    const Turns turns = find_turns(bins, 20);
    EXPECT_EQ(turns.highs.size(), 1U);  // the series begins high, which is no turn
    EXPECT_EQ(turns.lows.size(), 2U);
}

// The third bin contains the top of a tooth and the bottom after it.
TEST(Zigzag, ALowAfterAHighInTheSameBinCounts) {
    const auto bin = [](double low_at, double low, double high_at, double high) {
        return Bin{.low = low, .high = high, .low_at = low_at, .high_at = high_at, .count = 2};
    };
    const std::vector<Bin> bins{bin(0, 100, 1, 110), bin(2, 120, 3, 130), bin(5, 90, 4, 140), bin(6, 100, 7, 110),
                                bin(8, 120, 9, 130)};
    const Turns turns = find_turns(bins, 30);
    ASSERT_EQ(turns.highs.size(), 1U);
    EXPECT_EQ(turns.highs.front().bytes, 140);
    ASSERT_EQ(turns.lows.size(), 2U);
    EXPECT_EQ(turns.lows.back().bytes, 90);
    EXPECT_EQ(turns.lows.back().at, 5);
}

// Teeth of 2 GiB that last 500 s. Their bottoms rise by 1 GiB in 5000 s.
double long_teeth(double t) { return kGiB * (6 + t / 5000 + 2 * std::fmod(t, 500) / 500); }

TEST(Floor, HasOnePointForTheBottomOfEachTooth) {
    const auto floor = find_floor_of_teeth(drawn_bins(5000, 5, long_teeth), 2 * kGiB, 500, 0.001 * kGiB);
    ASSERT_TRUE(floor);
    ASSERT_EQ(floor->size(), 9U) << "the teeth after the first fall, without the one that has just begun";
    for (std::size_t i = 0; i < floor->size(); ++i)
        EXPECT_NEAR(floor->bytes[i], kGiB * (6 + floor->at[i] / 5000), 0.001 * kGiB);
}

TEST(Floor, LeavesOutABottomThatAGapMayHide) {
    Series series;
    for (double t = 0; t <= 4900; t += 5)
        if (t < 1900 || t > 2150) series.add(Seconds(t), Bytes{static_cast<std::uint64_t>(long_teeth(t))});
    const auto floor = find_floor_of_teeth(series.bins(), 2 * kGiB, 500, 0.001 * kGiB);
    ASSERT_TRUE(floor);
    EXPECT_EQ(floor->size(), 8U);
    for (const double at : floor->at) EXPECT_FALSE(at > 1900 && at < 2400) << at;
}

TEST(Floor, IsUnknownWithTooFewTeeth) {
    EXPECT_FALSE(find_floor_of_teeth(drawn_bins(2400, 5, long_teeth), 2 * kGiB, 500, 0.001 * kGiB));
    EXPECT_FALSE(find_floor_by_stretches(drawn_bins(2400, 5, long_teeth), 500, 0.001 * kGiB));
}

}  // namespace floor_test
}  // namespace memscope
