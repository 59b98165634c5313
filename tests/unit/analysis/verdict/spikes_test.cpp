#include "analysis/verdict/spikes.h"

#include <cmath>
#include <gtest/gtest.h>

#include "analysis/verdict/verdict.h"
#include "curves.h"

namespace memscope {
namespace spikes_test {

constexpr double kEvery = 15;  // seconds between samples

std::vector<Bin> bins_of(const std::vector<double>& gigabytes) {
    std::vector<Bin> bins;
    for (std::size_t i = 0; i < gigabytes.size(); ++i) {
        const double bytes = gigabytes[i] * 1e9, at = kEvery * static_cast<double>(i);
        bins.push_back({.low = bytes, .high = bytes, .low_at = at, .high_at = at, .count = 1});
    }
    return bins;
}

TEST(OpenExcursion, IsTheEndOfASeriesAfterAJumpLikeAnEarlierExcursion) {
    EXPECT_EQ(open_excursion(bins_of({10, 10, 20, 20, 20, 10, 10, 10, 10, 20, 20})), 2U);
    EXPECT_EQ(open_excursion(bins_of({10, 10, 20, 20, 20, 10, 10, 10, 10, 17})), 1U) << "alike, not the same";
}

TEST(OpenExcursion, EndsOnceItLastsLongerThanEarlierExcursions) {
    EXPECT_EQ(open_excursion(bins_of({10, 20, 20, 10, 10, 10, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20})), 0U);
}

TEST(OpenExcursion, NeedsAnEarlierExcursionOfSimilarHeight) {
    EXPECT_EQ(open_excursion(bins_of({10, 10, 20, 20, 30, 30, 40, 40})), 0U);
    EXPECT_EQ(open_excursion(bins_of({10, 10, 12, 12, 10, 10, 20, 20})), 0U) << "that one was far lower";
    EXPECT_EQ(open_excursion({}), 0U);
    EXPECT_EQ(open_excursion(bins_of({10})), 0U);
}

// A warm-up in steps, then validations. During the first validation after the budget the floor is not visible, and
// before it the floor was flat.
TEST(OpenExcursion, AJobInAnOpenExcursionIsNotAccused) {
    Series series;
    for (double at = 0; at <= 1485; at += kEvery) {
        const double floor = 18.6 + 3.5 * std::min(8.0, std::floor(at / 110));
        const bool validates = (at >= 390 && at < 510) || (at >= 930 && at < 1050) || at >= 1380;
        const double bytes = (floor + (validates ? 21 : 0)) * 1e9;
        series.add(Seconds(at), Bytes{static_cast<std::uint64_t>(bytes)});
        const Judgement judgement = judge(series, {});
        EXPECT_NE(judgement.verdict, Verdict::leaking) << "at " << at << " s";
    }
}

std::vector<Bin> bins_at(const std::vector<double>& times) {
    std::vector<Bin> bins;
    for (const double at : times) bins.push_back({.low = 1e9, .high = 1e9, .low_at = at, .high_at = at, .count = 1});
    return bins;
}

// `before` bins, one per second, then a gap, then `after` bins.
std::vector<Bin> with_gap(int before, double gap, int after) {
    std::vector<double> times;
    for (int i = 0; i < before; ++i) times.push_back(i);
    for (int i = 0; i < after; ++i) times.push_back(before - 1 + gap + i);
    return bins_at(times);
}

TEST(TooFewSinceGap, AreLessThanThirtySamplesAfterALongGap) {
    EXPECT_EQ(too_few_since_gap(with_gap(100, 600, 1)), 1U);
    EXPECT_EQ(too_few_since_gap(with_gap(100, 600, 29)), 29U);
    EXPECT_EQ(too_few_since_gap(with_gap(100, 600, 30)), 0U) << "enough to know the floor again";
}

TEST(TooFewSinceGap, AreFewerSamplesAfterAShortGap) {
    EXPECT_EQ(too_few_since_gap(with_gap(100, 10, 9)), 9U);
    EXPECT_EQ(too_few_since_gap(with_gap(100, 10, 10)), 0U) << "as long as the gap";
}

TEST(TooFewSinceGap, WithoutAGapThereAreEnoughSamples) {
    EXPECT_EQ(too_few_since_gap(with_gap(100, 1, 5)), 0U);
    EXPECT_EQ(too_few_since_gap(with_gap(100, 4, 2)), 0U) << "a late sample or two";
    EXPECT_EQ(too_few_since_gap(bins_at({0})), 0U);
    EXPECT_EQ(too_few_since_gap({}), 0U);
}

TEST(TooFewSinceGap, IrregularSamplesAreNoGap) {
    // One of ten distances is six times as long as the others.
    std::vector<double> times{0};
    for (int i = 1; i < 205; ++i) times.push_back(times.back() + (i % 10 == 0 ? 6 : 1));
    EXPECT_EQ(too_few_since_gap(bins_at(times), 60), 0U);
    for (double& each : times)
        if (each >= times[200]) each += 60;
    EXPECT_EQ(too_few_since_gap(bins_at(times), 60), 5U) << "a gap that is unlike the others";
}

TEST(Spikes, HaveHeightPeriodAndATime) {
    const auto bins = drawn_bins(3600, 5, [](double t) { return kGiB * (6 + (std::fmod(t, 300) < 20 ? 2 : 0)); });
    const auto spikes = find_spikes(bins, find_floor(bins), kGiB * 1e-5);
    ASSERT_TRUE(spikes);
    EXPECT_NEAR(spikes->height, 2 * kGiB, 0.01 * kGiB);
    EXPECT_NEAR(spikes->period, 300, 10);
    EXPECT_NEAR(spikes->last_at, 3600, 10);
}

}  // namespace spikes_test
}  // namespace memscope
