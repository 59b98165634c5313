#include <gtest/gtest.h>

#include "analysis/verdict/spikes.h"

namespace memscope {
namespace since_gap_test {

std::vector<Bin> bins_at(const std::vector<double>& times) {
    std::vector<Bin> bins;
    for (const double at : times) bins.push_back({.low = 1e9, .high = 1e9, .low_at = at, .high_at = at, .count = 1});
    return bins;
}

// One a second for so long, a gap, and so many after it.
std::vector<Bin> with_gap(int before, double gap, int after) {
    std::vector<double> times;
    for (int i = 0; i < before; ++i) times.push_back(i);
    for (int i = 0; i < after; ++i) times.push_back(before - 1 + gap + i);
    return bins_at(times);
}

TEST(TooFewSinceGap, AreTheFirstAfterALongOne) {
    EXPECT_EQ(too_few_since_gap(with_gap(100, 600, 1)), 1U);
    EXPECT_EQ(too_few_since_gap(with_gap(100, 600, 29)), 29U);
    EXPECT_EQ(too_few_since_gap(with_gap(100, 600, 30)), 0U) << "enough to know the floor again";
}

TEST(TooFewSinceGap, AreFewerAfterAShortOne) {
    EXPECT_EQ(too_few_since_gap(with_gap(100, 10, 9)), 9U);
    EXPECT_EQ(too_few_since_gap(with_gap(100, 10, 10)), 0U) << "as long as the gap";
}

TEST(TooFewSinceGap, AreNoneWithoutAGap) {
    EXPECT_EQ(too_few_since_gap(with_gap(100, 1, 5)), 0U);
    EXPECT_EQ(too_few_since_gap(with_gap(100, 4, 2)), 0U) << "a late sample or two";
    EXPECT_EQ(too_few_since_gap(bins_at({0})), 0U);
    EXPECT_EQ(too_few_since_gap({}), 0U);
}

TEST(TooFewSinceGap, AreNoneWhereSamplesAreIrregularAnyway) {
    // Of each ten distances one is six times as long as the others.
    std::vector<double> times{0};
    for (int i = 1; i < 205; ++i) times.push_back(times.back() + (i % 10 == 0 ? 6 : 1));
    EXPECT_EQ(too_few_since_gap(bins_at(times), 60), 0U);
    for (double& each : times)
        if (each >= times[200]) each += 60;
    EXPECT_EQ(too_few_since_gap(bins_at(times), 60), 5U) << "a gap that is unlike the others";
}

}  // namespace since_gap_test
}  // namespace memscope
