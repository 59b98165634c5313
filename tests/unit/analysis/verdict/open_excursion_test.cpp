#include <cmath>
#include <gtest/gtest.h>

#include "analysis/verdict/spikes.h"
#include "analysis/verdict/verdict.h"

namespace memscope {
namespace open_excursion_test {

constexpr double kEvery = 15;  // seconds between samples

std::vector<Bin> bins_of(const std::vector<double>& gigabytes) {
    std::vector<Bin> bins;
    for (std::size_t i = 0; i < gigabytes.size(); ++i) {
        const double bytes = gigabytes[i] * 1e9, at = kEvery * static_cast<double>(i);
        bins.push_back({.low = bytes, .high = bytes, .low_at = at, .high_at = at, .count = 1});
    }
    return bins;
}

TEST(OpenExcursion, IsWhatStandsOnAJumpLikeOneThatCameBack) {
    EXPECT_EQ(open_excursion(bins_of({10, 10, 20, 20, 20, 10, 10, 10, 10, 20, 20})), 2U);
    EXPECT_EQ(open_excursion(bins_of({10, 10, 20, 20, 20, 10, 10, 10, 10, 17})), 1U) << "alike, not the same";
}

TEST(OpenExcursion, IsNoneOnceItStandsLongerThanThoseBefore) {
    EXPECT_EQ(open_excursion(bins_of({10, 20, 20, 10, 10, 10, 10, 10, 10, 10, 10, 20, 20, 20, 20, 20})), 0U);
}

TEST(OpenExcursion, IsNoneWhereNothingEverCameBack) {
    EXPECT_EQ(open_excursion(bins_of({10, 10, 20, 20, 30, 30, 40, 40})), 0U);
    EXPECT_EQ(open_excursion(bins_of({10, 10, 12, 12, 10, 10, 20, 20})), 0U) << "that one was far lower";
    EXPECT_EQ(open_excursion({}), 0U);
    EXPECT_EQ(open_excursion(bins_of({10})), 0U);
}

// A warm-up in steps, then validations: during the first of them that is seen after the budget, the last thing that is
// known of the floor is that it was flat.
TEST(OpenExcursion, IsNoReasonToAccuseAJobThatHasWarmedUp) {
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

}  // namespace open_excursion_test
}  // namespace memscope
