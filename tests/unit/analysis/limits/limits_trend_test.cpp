#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "analysis/limits/limits.h"

namespace memscope {
namespace limits_trend_test {

constexpr double kMiB = 1024.0 * 1024;
constexpr Seconds kHorizon = std::chrono::minutes(2);

Bytes mib(double n) { return {static_cast<std::uint64_t>(n * kMiB)}; }

// A size in MiB at a time in seconds, sampled every `interval`.
Trend drawn(double seconds, const std::function<double(double)>& size, double interval = 1) {
    Trend trend;
    for (double t = 0; t <= seconds; t += interval) trend.add(Seconds(500 + t), mib(size(t)));
    return trend;
}

// Deterministic noise from -1 to 1, different at every sample.
double noise(double t) { return std::sin(12.9898 * t) * std::cos(78.233 * t); }

TEST(Trend, MeasuresTheRateOfALine) {
    const Trend trend = drawn(60, [](double t) { return 400 + 2 * t; });
    const auto rise = trend.reaching(mib(100), kHorizon);
    ASSERT_TRUE(rise);
    EXPECT_NEAR(rise->rate, 2 * kMiB, 0.02 * kMiB);
    EXPECT_NEAR(rise->window.count(), 60, 1);
}

TEST(Trend, LooksAheadTwiceTheObservedTime) {
    const auto line = [](double t) { return 400 + 5 * t; };
    EXPECT_FALSE(drawn(8, line).reaching(mib(50), kHorizon)) << "too short";
    EXPECT_TRUE(drawn(10, line).reaching(mib(90), kHorizon)) << "18 s";
    EXPECT_FALSE(drawn(10, line).reaching(mib(110), kHorizon)) << "22 s are more than twice the observed time";
    EXPECT_TRUE(drawn(20, line).reaching(mib(110), kHorizon));
}

TEST(Trend, NothingBeyondTheHorizon) {
    const Trend trend = drawn(60, [](double t) { return 400 + t; });
    EXPECT_TRUE(trend.reaching(mib(119), kHorizon));
    EXPECT_FALSE(trend.reaching(mib(121), kHorizon));
    EXPECT_FALSE(trend.reaching(mib(60), Seconds{30}));
}

TEST(Trend, NoiseOnALineChangesItsRateLittle) {
    const Trend trend = drawn(60, [](double t) { return 400 + 2 * t + 8 * noise(t); });
    const auto rise = trend.reaching(mib(100), kHorizon);
    ASSERT_TRUE(rise);
    EXPECT_NEAR(rise->rate, 2 * kMiB, 0.3 * kMiB);
}

TEST(Trend, IgnoresOutliers) {
    const Trend trend = drawn(60, [](double t) { return 400 + 2 * t + (t == 29 || t == 58 ? 25 : 0); });
    const auto rise = trend.reaching(mib(100), kHorizon);
    ASSERT_TRUE(rise);
    EXPECT_NEAR(rise->rate, 2 * kMiB, 0.2 * kMiB);
}

TEST(Trend, NoiseOnAFlatSizeIsNoRise) {
    for (double phase = 0; phase < 200; phase += 1) {
        const Trend trend = drawn(60, [&](double t) { return 440 + 10 * noise(t + phase); });
        EXPECT_FALSE(trend.reaching(mib(60), kHorizon)) << phase;
    }
}

TEST(Trend, AJumpIsNoRiseWheneverItWas) {
    for (double at = 0; at < 60; at += 1)
        EXPECT_FALSE(drawn(60, [&](double t) { return t < at ? 300 : 450; }).reaching(mib(60), kHorizon)) << at;
}

TEST(Trend, ARiseThatStoppedDoesNotReachTheLimit) {
    const auto loading = [](double t) { return std::min(300 + 5 * t, 450.0); };
    EXPECT_TRUE(drawn(29, loading).reaching(mib(60), kHorizon));
    EXPECT_FALSE(drawn(45, loading).reaching(mib(60), kHorizon));
}

TEST(Trend, ASizeThatFallsBackIsNoRise) {
    // A sawtooth of 60 MiB every 15 s does not rise.
    EXPECT_FALSE(drawn(60, [](double t) { return 400 + 4 * std::fmod(t, 15); }).reaching(mib(40), kHorizon));
    EXPECT_FALSE(drawn(33, [](double t) { return t < 30 ? 400 + 3 * t : 400; }).reaching(mib(40), kHorizon));
}

TEST(Trend, ShortWindowsDetectARecentRise) {
    const Trend trend = drawn(120, [](double t) { return t < 100 ? 400 : 400 + 5 * (t - 100); });
    const auto rise = trend.reaching(mib(20), kHorizon);
    ASSERT_TRUE(rise);
    EXPECT_NEAR(rise->rate, 5 * kMiB, 0.5 * kMiB);
    EXPECT_LE(rise->window, Seconds{20});
}

TEST(Trend, TheIntervalOfTicksDoesNotMatter) {
    for (const double interval : {0.05, 0.3, 2.0, 5.0, 10.0}) {
        const Trend trend = drawn(60, [](double t) { return 400 + 2 * t; }, interval);
        const auto rise = trend.reaching(mib(100), kHorizon);
        ASSERT_TRUE(rise) << interval;
        EXPECT_NEAR(rise->rate, 2 * kMiB, 0.05 * kMiB) << interval;
    }
}

TEST(Trend, ForgetsSamplesOlderThanAMinute) {
    Trend trend = drawn(60, [](double t) { return 400 + 2 * t; });
    for (double t = 61; t <= 121; ++t) trend.add(Seconds(500 + t), mib(520));
    EXPECT_FALSE(trend.reaching(mib(10), kHorizon));
    EXPECT_EQ(trend.mean_rate(Trend::kLongest), 0);
}

TEST(Trend, TheMeanRateIsOfTheWindowAlone) {
    const Trend trend = drawn(60, [](double t) { return t < 50 ? 400 : 400 + 3 * (t - 50); });
    EXPECT_NEAR(trend.mean_rate(Seconds{10}), 3 * kMiB, 1);
    EXPECT_NEAR(trend.mean_rate(Seconds{60}), 0.5 * kMiB, 1);
    EXPECT_EQ(Trend{}.mean_rate(Seconds{10}), 0);
}

TEST(Trend, WithoutSamplesThereIsNoRise) {
    EXPECT_FALSE(Trend{}.reaching(mib(1), kHorizon));
    Trend trend = drawn(60, [](double t) { return 400 + 2 * t; });
    trend.clear();
    EXPECT_FALSE(trend.reaching(mib(1), kHorizon));
}

}  // namespace limits_trend_test
}  // namespace memscope
