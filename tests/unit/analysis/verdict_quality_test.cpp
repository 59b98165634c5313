// A thousand made series with known answers. The bench (`./dev bench verdict`) has ten times as many, and other tools.
#include <algorithm>
#include <gmock/gmock.h>

#include "analysis/forecast.h"
#include "analysis/judge.h"
#include "analysis/statistics.h"
#include "series/score.h"

namespace memscope::made {
namespace {

constexpr std::uint64_t kSeed = 20260000;

TEST(VerdictQuality, AThousandSeriesAreJudgedRight) {
    Score score;
    for (std::uint64_t seed = kSeed; score.series < 1000; ++seed)
        for (const Family& family : families()) {
            const Labelled made = make(family, seed);
            score.add(made, memscope_says(made), seed);
        }
    EXPECT_GE(score.right, score.series * 995 / 1000) << testing::PrintToString(score.cases);
    EXPECT_EQ(score.accused, 0) << testing::PrintToString(score.cases);
    EXPECT_LE(score.long_missed, score.long_leaks * 5 / 1000 + 1) << testing::PrintToString(score.cases);
    EXPECT_GE(score.slopes_near, score.slopes * 97 / 100);
    EXPECT_GT(score.leaks, 250);
    EXPECT_GT(score.healthy, 650);
}

TEST(VerdictQuality, NoHealthyJobIsAccusedAtAnyMoment) {
    Watching watching;
    for (std::uint64_t seed = kSeed; seed < kSeed + 4; ++seed)
        for (const Family& family : families())
            if (family.name.find("days") == std::string_view::npos) watching.add(make(family, seed), seed);
    EXPECT_EQ(watching.accused, 0) << testing::PrintToString(watching.cases);
    EXPECT_GT(watching.healthy, 50);
}

TEST(VerdictQuality, TheWordSeldomChanges) {
    Watching watching;
    for (std::uint64_t seed = kSeed; seed < kSeed + 5; ++seed)
        for (const Family& family : families())
            if (family.name.find("days") == std::string_view::npos) watching.add(make(family, seed), seed);
    EXPECT_LE(quantile(watching.changes, 0.5), 2);
    EXPECT_LE(quantile(watching.changes, 0.9), 3);
    EXPECT_LE(quantile(watching.changes, 1), 6) << testing::PrintToString(watching.cases);
}

TEST(VerdictQuality, NoSpikeIsForeseenHigherThanTheLatestOnes) {
    for (const Family& family : families())
        for (std::uint64_t seed = kSeed; family.name == "same peaks, higher floor" && seed < kSeed + 20; ++seed) {
            const Labelled made = make(family, seed);
            Judge judge;
            for (const auto& sample : made.samples) {
                judge.add(Seconds(sample.at), Bytes{static_cast<std::uint64_t>(sample.bytes)});
                const auto expected = forecast(judge.latest(), Bytes{static_cast<std::uint64_t>(*made.limit)});
                ASSERT_FALSE(expected) << "seed " << seed << " at " << sample.at;
            }
        }
}

TEST(VerdictQuality, ALateLeakIsCalledWithinMinutes) {
    Watching watching;
    for (const Family& family : families())
        for (std::uint64_t seed = kSeed; family.name == "late leak" && seed < kSeed + 30; ++seed)
            watching.add(make(family, seed), seed);
    EXPECT_EQ(watching.accused, 0) << testing::PrintToString(watching.cases);
    EXPECT_EQ(watching.never, 0);
    EXPECT_EQ(watching.delays.size(), 30U);
    EXPECT_LE(median_value(watching.delays), 5 * kMinute);
}

TEST(VerdictQuality, DeathIsForeseenAMinuteBefore) {
    ForecastErrors errors;
    for (std::uint64_t seed = kSeed; seed < kSeed + 40; ++seed)
        for (const bool stepped : {false, true}) errors.add(make_dying(seed, stepped));
    EXPECT_LE(median_value(errors.steady), 0.15);
    EXPECT_LE(median_value(errors.stepped), 0.30);
    EXPECT_LE(errors.silent, 12);  // steps of which there are not three yet, and growth inside the budget
}

}  // namespace
}  // namespace memscope::made
