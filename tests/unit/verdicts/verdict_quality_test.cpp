// Made series with known answers. The bench (`./dev bench verdict`) has many more, and other tools.
#include <algorithm>
#include <future>
#include <gmock/gmock.h>

#include "analysis/verdict/forecast.h"
#include "analysis/verdict/judge.h"
#include "analysis/verdict/statistics.h"
#include "series/score.h"

namespace memscope::made {
namespace verdict_quality_test {

constexpr std::uint64_t kSeed = 20260000;

// Makes and judges the series of each seed in a thread of its own, and joins what they returned.
template <class Findings>
Findings judged_side_by_side(std::uint64_t seeds, const std::function<Findings(std::uint64_t seed)>& judge) {
    std::vector<std::future<Findings>> running;
    for (std::uint64_t seed = kSeed; seed < kSeed + seeds; ++seed)
        running.push_back(std::async(std::launch::async, judge, seed));
    Findings all;
    for (std::future<Findings>& each : running) all.join(each.get());
    return all;
}

struct Judged {
    Score score{};
    Watching watching{};
    void join(const Judged& other) {
        score.join(other.score);
        watching.join(other.watching);
    }
};

// Judged sample by sample, as a watcher does. Series of days take seconds each, so there are few of them here.
bool lasts_days(const Family& family) { return family.name.find("days") != std::string_view::npos; }

TEST(VerdictQuality, HundredsOfSeriesAreJudgedRightAndTheWordSeldomChanges) {
    const auto [score, watching] = judged_side_by_side<Judged>(4, [](std::uint64_t seed) {
        Judged judged;
        for (const Family& family : families()) {
            if (lasts_days(family) && seed > kSeed) continue;
            const Labelled made = make(family, seed);
            judged.score.add(made, judged.watching.add(made, seed), seed);
        }
        return judged;
    });
    EXPECT_GE(score.right, score.series * 99 / 100) << testing::PrintToString(score.cases);
    EXPECT_EQ(score.accused, 0) << testing::PrintToString(score.cases);
    EXPECT_LE(score.missed, 1) << testing::PrintToString(score.cases);
    EXPECT_GE(score.slopes_near, score.slopes * 97 / 100);
    EXPECT_GT(score.leaks, 50);
    EXPECT_GT(score.healthy, 100);
    EXPECT_EQ(watching.accused, 0) << testing::PrintToString(watching.cases);
    EXPECT_GT(watching.healthy, 50);
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

// How many of 200 series of a family are called leaking at their end, without hysteresis.
int called_leaking(std::string_view name) {
    int called = 0;
    for (const Family& family : families())
        for (std::uint64_t seed = kSeed; family.name == name && seed < kSeed + 200; ++seed)
            called += judge(series_of(make(family, seed))).verdict == Verdict::leaking ? 1 : 0;
    return called;
}

TEST(VerdictQuality, TwoStepsBelowTeethAreNoLeakAndAStepInEachEpochIsOne) {
    EXPECT_EQ(called_leaking("two steps under teeth"), 0);
    EXPECT_GE(called_leaking("leak in steps under teeth"), 195);
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
    const auto errors = judged_side_by_side<ForecastErrors>(20, [](std::uint64_t seed) {
        ForecastErrors judged;
        for (const bool stepped : {false, true}) judged.add(make_dying(seed, stepped));
        return judged;
    });
    EXPECT_LE(median_value(errors.steady), 0.15);
    EXPECT_LE(median_value(errors.stepped), 0.30);
    EXPECT_LE(errors.silent, 6);  // series with fewer than three steps, or with growth within the budget
}

}  // namespace verdict_quality_test
}  // namespace memscope::made
