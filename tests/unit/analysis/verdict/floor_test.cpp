// The parts from which a verdict is made.
#include "analysis/verdict/floor.h"

#include <cmath>
#include <gmock/gmock.h>

#include "analysis/verdict/restart.h"
#include "analysis/verdict/rise.h"
#include "analysis/verdict/saturation.h"
#include "analysis/verdict/spikes.h"
#include "curves.h"

namespace memscope {
namespace floor_test {

std::vector<Bin> bins_of(double length, double interval, const std::function<double(double)>& bytes) {
    return drawn(length, interval, bytes).bins();
}

TEST(Statistics, ALineThroughAnyRunOfPoints) {
    const std::vector<double> at{0, 1, 2, 3, 4};
    const std::vector<double> values{9, 1, 3, 5, 9};
    const Line line = LineFits(at, values).line(1, 4);
    EXPECT_DOUBLE_EQ(line.slope, 2);
    EXPECT_DOUBLE_EQ(line.value(10), 19);
    EXPECT_NEAR(line.squares, 0, 1e-9);
}

TEST(Statistics, MediansAndQuantiles) {
    EXPECT_EQ(median_value({}), 0);
    EXPECT_EQ(median_value({3, 1, 2}), 2);
    EXPECT_EQ(median_value({4, 1, 2, 3}), 2.5);
    EXPECT_EQ(quantile({5, 1, 4, 2, 3}, 1), 5);
    EXPECT_EQ(quantile({5, 1, 4, 2, 3}, 0), 1);
}

TEST(Floor, SpikesLeaveItAlone) {
    const Floor floor =
        find_floor(bins_of(3600, 5, [](double t) { return kGiB * (6 + (std::fmod(t, 300) < 60 ? 4 : 0)); }));
    for (const double bytes : floor.bytes) EXPECT_NEAR(bytes, 6 * kGiB, 0.001 * kGiB);
}

TEST(Floor, FollowsTheBottomsOfTeeth) {
    const Floor floor =
        find_floor(bins_of(7200, 5, [](double t) { return kGiB * (6 + t / 7200 + 2 * std::fmod(t, 450) / 450); }));
    EXPECT_NEAR(floor.line_since(0).slope * 7200, kGiB, 0.1 * kGiB);
}

TEST(Segments, AKinkIsWhereTwoLinesMeet) {
    const Floor floor = find_floor(bins_of(3600, 5, through({{0, kGiB}, {1200, 3 * kGiB}, {3600, 3 * kGiB}})));
    const auto segments = find_segments(floor);
    ASSERT_GE(segments.size(), 2U);
    EXPECT_NEAR(floor.at[segments.back().from], 1200, 60);
    EXPECT_NEAR(segments.back().slope, 0, 1);
}

TEST(Zigzag, SmallMovesDoNotCount) {
    const auto bins = bins_of(40, 1, [](double t) { return 100 + (std::fmod(t, 20) < 10 ? 50 : 0) + std::fmod(t, 2); });
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

TEST(Collapse, IsAFallThatStays) {
    const auto restart = [](const std::function<double(double)>& curve) {
        const auto bins = bins_of(6000, 5, curve);
        const auto found = find_collapse(bins, std::chrono::minutes(20));
        return found ? std::optional(bins[*found].low_at) : std::nullopt;
    };
    EXPECT_NEAR(*restart([](double t) { return kGiB * (t < 3000 ? 6 : 2); }), 3000, 10);
    EXPECT_FALSE(restart([](double t) { return kGiB * (t > 3000 && t < 3400 ? 6 : 2); }));
    EXPECT_FALSE(restart([](double t) { return kGiB * (t < 3000 ? 6 : 5); }));
    // The end of a process may take a few samples.
    EXPECT_NEAR(*restart(through({{0, 6 * kGiB}, {3000, 6 * kGiB}, {3025, kGiB}, {6000, kGiB}})), 3025, 15);
}

TEST(Collapse, IsNoneWhereARampWasGivenBackAndBeginsAgain) {
    const auto twice = [](double after) {
        return bins_of(6000, 5, [=](double t) { return kGiB * (1 + (t < 3000 ? t : after * (t - 3000)) / 500); });
    };
    EXPECT_FALSE(find_collapse(twice(1), std::chrono::minutes(20)));    // a tooth, and the next one
    EXPECT_TRUE(find_collapse(twice(0.05), std::chrono::minutes(20)));  // another job
}

std::vector<double> restarts_of(std::vector<Bin> bins, const std::optional<std::vector<double>>& replaced = {}) {
    std::vector<double> at;
    for (const std::size_t bin : find_restarts(bins, replaced)) at.push_back(bins[bin].low_at);
    return at;
}

// Loads its model to 6 GiB within `load` seconds and grows to 14 GiB, again and again.
std::function<double(double)> crash_loop(double load) {
    return [=](double t) {
        const double age = std::fmod(t, 2000);
        if (age < 20) return 0.3 * kGiB;
        return kGiB * (0.3 + 5.7 * std::min(1.0, (age - 20) / load) + 8 * age / 2000);
    };
}

TEST(Restarts, UndershootTheLevelFromWhichGrowthResumes) {
    for (const double load : {1.0, 60.0, 200.0})
        EXPECT_EQ(restarts_of(bins_of(9500, 5, crash_loop(load))).size(), 4U) << load;
}

TEST(Restarts, AreNoTeethHoweverDeep) {
    EXPECT_TRUE(
        restarts_of(bins_of(9500, 5, [](double t) { return kGiB * (0.3 + 14 * std::fmod(t, 2000) / 2000); })).empty());
}

TEST(Restarts, AreNoEndsOfSpikes) {
    EXPECT_TRUE(
        restarts_of(bins_of(9500, 5, [](double t) { return kGiB * (std::fmod(t, 500) < 100 ? 12 : 2); })).empty());
}

TEST(Restarts, AGapInTheReadingIsNone) {
    auto bins = bins_of(3600, 5, [](double t) { return t == 1800 ? 0 : 6 * kGiB; });
    const std::size_t all = bins.size();
    EXPECT_TRUE(find_restarts(bins, std::nullopt).empty());
    EXPECT_EQ(bins.size(), all - 1);
}

TEST(Restarts, OfAKnownProcessTreeAreThoseThatItReports) {
    const auto bins = bins_of(9500, 5, crash_loop(60));
    EXPECT_EQ(restarts_of(bins, std::vector<double>{2010, 6010}).size(), 2U);
    EXPECT_TRUE(restarts_of(bins, std::vector<double>{}).empty());
    // A trainer that is replaced while the memory stays has given nothing back.
    EXPECT_TRUE(restarts_of(bins_of(9500, 5, [](double) { return kGiB; }), std::vector<double>{2010}).empty());
}

TEST(Spikes, HaveHeightPeriodAndATime) {
    const auto bins = bins_of(3600, 5, [](double t) { return kGiB * (6 + (std::fmod(t, 300) < 20 ? 2 : 0)); });
    const auto spikes = find_spikes(bins, find_floor(bins), kGiB * 1e-5);
    ASSERT_TRUE(spikes);
    EXPECT_NEAR(spikes->height, 2 * kGiB, 0.01 * kGiB);
    EXPECT_NEAR(spikes->period, 300, 10);
    EXPECT_NEAR(spikes->last_at, 3600, 10);
}

TEST(Saturation, KnowsWhatIsToComeAndWhatLasts) {
    const auto curve = [](double lasting) {
        return find_floor(
            bins_of(3000, 5, [=](double t) { return kGiB * (2 + 4 * (1 - std::exp(-t / 1000)) + lasting * t); }));
    };
    const auto slowing = find_saturation(curve(0), 0);
    ASSERT_TRUE(slowing);
    EXPECT_FALSE(slowing->lasts);
    EXPECT_NEAR(slowing->to_come, 4 * kGiB * std::exp(-3), 0.05 * kGiB);
    const auto lasting = find_saturation(curve(0.001), 0);
    ASSERT_TRUE(lasting);
    EXPECT_TRUE(lasting->lasts);
    EXPECT_NEAR(lasting->lasting, 0.001 * kGiB, 0.0002 * kGiB);
    EXPECT_FALSE(find_saturation(find_floor(bins_of(3000, 5, [](double t) { return kGiB * (2 + t / 1000); })), 0));
}

TEST(Saturation, ARootSlowsDownToo) {
    const auto slows = [](const std::function<double(double)>& curve) {
        return slowing_by_thirds(find_floor(bins_of(3000, 5, curve)), 0).has_value();
    };
    EXPECT_TRUE(slows([](double t) { return kGiB * (2 + std::sqrt(t) / 20); }));
    EXPECT_FALSE(slows([](double t) { return kGiB * (2 + t / 1000); }));
}

TEST(Steps, AreCountedAndPlaced) {
    const auto bins = bins_of(6000, 5, [](double t) { return kGiB * (4 + 0.5 * std::floor(t / 1000)); });
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

// Teeth of 2 GiB that last 500 s. Their bottoms rise by 1 GiB in 5000 s.
double long_teeth(double t) { return kGiB * (6 + t / 5000 + 2 * std::fmod(t, 500) / 500); }

TEST(Floor, HasOnePointForTheBottomOfEachTooth) {
    const auto floor = find_floor_of_teeth(bins_of(5000, 5, long_teeth), 2 * kGiB, 500, 0.001 * kGiB);
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

TEST(Floor, OfTooFewTeethIsNotKnown) {
    EXPECT_FALSE(find_floor_of_teeth(bins_of(2400, 5, long_teeth), 2 * kGiB, 500, 0.001 * kGiB));
    EXPECT_FALSE(find_floor_by_stretches(bins_of(2400, 5, long_teeth), 500, 0.001 * kGiB));
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

TEST(Rise, OneJumpIsNone) {
    const Bar bar{.level = 4 * kGiB, .shortest = 240};
    const Floor jump = find_floor(bins_of(3600, 5, [](double t) { return kGiB * (t < 1800 ? 4 : 5); }));
    EXPECT_FALSE(find_rise(jump, 0, bar));
    const Floor steady = find_floor(bins_of(3600, 5, [](double t) { return kGiB * (4 + t / 3600); }));
    const auto rise = find_rise(steady, 0, bar);
    ASSERT_TRUE(rise);
    EXPECT_NEAR(rise->slope * 3600, kGiB, 0.01 * kGiB);
    EXPECT_FALSE(rise->stairs);
}

TEST(Rise, MustGoOnAfterTheBudget) {
    const Floor ended = find_floor(bins_of(1400, 1, through({{0, kGiB}, {1190, 6 * kGiB}, {1400, 6 * kGiB}})));
    EXPECT_FALSE(find_rise(ended, 0, {.level = 6 * kGiB, .shortest = 240, .budget_ends = 1200, .least_after = 120}));
}

}  // namespace floor_test
}  // namespace memscope
