// The rules of a verdict, case by case.
#include "analysis/verdict/verdict.h"

#include <cmath>
#include <gmock/gmock.h>

#include "analysis/verdict/judge.h"
#include "curves.h"

namespace memscope {
namespace verdict_test {

Verdict verdict(const Series& series) { return judge(series).verdict; }

TEST(Verdict, EachWordParsesToItsVerdict) {
    for (const Verdict each : kVerdicts) EXPECT_EQ(verdict_of(word(each)), each);
    EXPECT_FALSE(verdict_of("leaky"));
}

TEST(Verdict, TooFewOrTooShortSamplesAreInsufficient) {
    EXPECT_EQ(verdict(Series()), Verdict::insufficient);
    EXPECT_EQ(verdict(drawn(10, 5, [](double) { return kGiB; })), Verdict::insufficient);
    EXPECT_EQ(verdict(drawn(60, 1, [](double t) { return kGiB * (1 + t); })), Verdict::insufficient);
}

TEST(Verdict, AFlatFloorIsStableAndHasNoWarmUp) {
    const Judgement flat = judge(drawn(3600, 5, [](double) { return 6 * kGiB; }));
    EXPECT_EQ(flat.verdict, Verdict::stable);
    EXPECT_FALSE(flat.warmup_ended || flat.leak_started || flat.spike || flat.restarted);
    EXPECT_EQ(flat.floor.n, 6ULL << 30U);
}

TEST(Verdict, GrowthInsideTheBudgetIsWarmingUp) {
    EXPECT_EQ(verdict(drawn(900, 1, [](double t) { return kGiB * (2 + t / 100); })), Verdict::warming_up);
}

TEST(Verdict, GrowthInsideTheBudgetIsWarmingUpEvenAfterAPause) {
    const auto paused = through({{0, kGiB}, {300, 3 * kGiB}, {600, 3 * kGiB}, {1100, 6 * kGiB}});
    EXPECT_EQ(verdict(drawn(1000, 1, paused)), Verdict::warming_up);
    const Judgement over = judge(drawn(3000, 1, paused));
    EXPECT_EQ(over.verdict, Verdict::stable);
    ASSERT_TRUE(over.warmup_ended);
    EXPECT_NEAR(over.warmup_ended->count(), 1100, 60);
}

TEST(Verdict, SteadyGrowthBeyondTheBudgetIsALeak) {
    const Judgement leak = judge(drawn(2400, 1, [](double t) { return kGiB * (4 + t / 1000); }));
    EXPECT_EQ(leak.verdict, Verdict::leaking);
    EXPECT_NEAR(leak.floor_slope, kGiB / 1000, kGiB / 20000);
    EXPECT_FALSE(leak.warmup_ended);
}

TEST(Verdict, GrowthInsideALongerBudgetIsWarmingUp) {
    const Series series = drawn(2400, 1, [](double t) { return kGiB * (4 + t / 1000); });
    EXPECT_EQ(judge(series, {.warmup = std::chrono::hours(1)}).verdict, Verdict::warming_up);
}

TEST(Verdict, GrowthThatSlowsDownIsGivenThreeTimesTheBudget) {
    const auto slowing = [](double t) { return kGiB * (2 + 6 * (1 - std::exp(-t / 1500))); };
    const Judgement early = judge(drawn(2400, 1, slowing));
    EXPECT_EQ(early.verdict, Verdict::warming_up);
    EXPECT_EQ(early.doubt, Doubt::decelerating);
    EXPECT_EQ(verdict(drawn(9000, 1, slowing)), Verdict::stable);
}

TEST(Verdict, GrowthThatSlowsDownIsALeakAfterThreeTimesTheBudget) {
    const auto slowing = [](double t) { return kGiB * (2 + 20 * (1 - std::exp(-t / 6000))); };
    EXPECT_EQ(verdict(drawn(3000, 2, slowing)), Verdict::warming_up);
    EXPECT_EQ(verdict(drawn(9000, 2, slowing)), Verdict::leaking);
}

TEST(Verdict, ARiseOfLessThanOnePercentIsStable) {
    EXPECT_EQ(verdict(drawn(7200, 5, [](double t) { return 6 * kGiB * (1 + 0.008 * t / 7200); })), Verdict::stable);
    EXPECT_EQ(verdict(drawn(7200, 5, [](double t) { return 6 * kGiB * (1 + 0.03 * t / 7200); })), Verdict::leaking);
}

TEST(Verdict, ThreeExcursionsOfEnoughHeightAreSpikes) {
    const auto spiky = [](int count, double height) {
        return drawn(7200, 5, [=](double t) {
            const bool up = std::fmod(t, 1200) < 40 && t < 1200 * count - 1;
            return 6 * kGiB * (1 + (up ? height : 0));
        });
    };
    EXPECT_EQ(verdict(spiky(6, 0.05)), Verdict::spiky);
    EXPECT_EQ(verdict(spiky(6, 0.015)), Verdict::stable);
    EXPECT_EQ(verdict(spiky(2, 0.5)), Verdict::stable);
    const Judgement judgement = judge(spiky(6, 0.5));
    ASSERT_TRUE(judgement.spike);
    EXPECT_NEAR(static_cast<double>(judgement.spike->height.n), 3 * kGiB, 0.1 * kGiB);
    EXPECT_NEAR(judgement.spike->period.count(), 1200, 60);
}

TEST(Verdict, ASawtoothIsSpiky) {
    EXPECT_EQ(verdict(drawn(7200, 5, [](double t) { return kGiB * (4 + std::fmod(t, 400) / 400); })), Verdict::spiky);
}

// Teeth of 8 GiB on 20 GiB that are sampled every 10 s.
Series coarse_teeth(double period, double leak) {
    return drawn(6000, 10, [=](double t) { return kGiB * (20 + 8 * std::fmod(t, period) / period + leak * t / 3600); });
}

TEST(Verdict, ASlowLeakBelowTeethIsDetectedIfSamplesHaveVariedPhases) {
    // A tooth grows by 0.84 GiB between two samples, and the leak brings 1.25 GiB.
    EXPECT_EQ(verdict(coarse_teeth(95.3, 0.75)), Verdict::leaking);
    EXPECT_EQ(verdict(coarse_teeth(95.3, 0)), Verdict::spiky);
}

TEST(Verdict, LowsThatRiseBecauseThePhaseOfTheSamplesDriftsAreNoLeak) {
    // The phase of the samples moves a little from tooth to tooth.
    for (const double period : {79.5, 79.7, 79.85, 79.9, 99.6, 99.85})
        for (const double length : {3000.0, 4500.0, 6000.0})
            EXPECT_EQ(
                verdict(drawn(length, 10, [=](double t) { return kGiB * (20 + 8 * std::fmod(t, period) / period); })),
                Verdict::spiky)
                << period << ' ' << length;
}

TEST(Verdict, ThreeStepsAreALeakAndTwoAreNot) {
    const auto steps = [](double length) {
        return drawn(length, 5,
                     [](double t) { return kGiB * (4 + 0.25 * std::floor(t < 1500 ? 0 : 1 + (t - 1500) / 900)); });
    };
    EXPECT_EQ(verdict(steps(3000)), Verdict::stable);
    const Judgement leak = judge(steps(4000));
    EXPECT_EQ(leak.verdict, Verdict::leaking);
    ASSERT_TRUE(leak.steps);
    EXPECT_EQ(leak.steps->count, 3);
    EXPECT_NEAR(leak.floor_slope, 0.25 * kGiB / 900, 0.025 * kGiB / 900);
}

// The flat interval between two steps at the end of the budget looks like the plateau after a warm-up.
TEST(Verdict, StepsThatBeganInTheWarmUpAndGoOnAreALeak) {
    const auto steps = [](double last) {
        return [=](double t) {
            return kGiB * (10 + 0.25 * (t < 110 ? 0 : 1 + std::floor((std::min(t, last) - 110) / 385)));
        };
    };
    EXPECT_EQ(verdict(drawn(2250, 10, steps(1e9))), Verdict::leaking);
    EXPECT_EQ(verdict(drawn(4000, 10, steps(1300))), Verdict::stable) << "the last step came at the end of the budget";
}

TEST(Verdict, ALeakThatStoppedIsStable) {
    const auto stopped = through({{0, 4 * kGiB}, {1800, 4 * kGiB}, {4000, 6 * kGiB}, {9000, 6 * kGiB}});
    EXPECT_EQ(verdict(drawn(3900, 5, stopped)), Verdict::leaking);
    EXPECT_EQ(verdict(drawn(9000, 5, stopped)), Verdict::stable);
}

TEST(Verdict, AKinkIsBothTheEndOfTheWarmUpAndTheStartOfTheLeak) {
    const Judgement leak = judge(drawn(7200, 5, through({{0, kGiB}, {900, 6 * kGiB}, {7200, 8 * kGiB}})));
    EXPECT_EQ(leak.verdict, Verdict::leaking);
    ASSERT_TRUE(leak.warmup_ended && leak.leak_started);
    EXPECT_NEAR(leak.warmup_ended->count(), 900, 120);
    EXPECT_NEAR(leak.leak_started->count(), 900, 120);
}

TEST(Verdict, JudgesOnlySamplesAfterARestart) {
    const auto twice = [](double t) {
        return t < 4000 ? kGiB * (4 + t / 2000) : kGiB * std::min(4.0, 1 + (t - 4000) / 200);
    };
    const Judgement judgement = judge(drawn(8000, 5, twice, 1000));
    EXPECT_EQ(judgement.verdict, Verdict::stable);
    ASSERT_TRUE(judgement.restarted);
    EXPECT_NEAR(judgement.restarted->count(), 5000, 30);
}

TEST(Verdict, ARunThatLoadsItsModelIsARestartAndNoTooth) {
    // Both runs leak. The second one loads its model in 100 s, to less than twice the level at which it began.
    const auto twice = through({{0, 4 * kGiB},
                                {722, 7.6 * kGiB},
                                {3640, 16.6 * kGiB},
                                {3650, 4.1 * kGiB},
                                {3750, 7 * kGiB},
                                {6070, 11.5 * kGiB}});
    const Judgement judgement = judge(drawn(6070, 10, twice));
    EXPECT_EQ(judgement.verdict, Verdict::leaking);
    ASSERT_TRUE(judgement.restarted);
    EXPECT_NEAR(judgement.restarted->count(), 3650, 30);
}

TEST(Verdict, LowSamplesAtTheEndOfAJobDoNotChangeTheVerdict) {
    const auto leak = [](double t) { return kGiB * (6 + t / 3600); };
    for (const int samples : {1, 2}) {
        const Judgement died = judge(drawn(3595 + 5 * samples, 5, [&](double t) { return t < 3600 ? leak(t) : 0; }));
        EXPECT_EQ(died.verdict, Verdict::leaking) << samples;
        EXPECT_NEAR(died.floor_slope * 3600, kGiB, 0.1 * kGiB);
    }
}

TEST(Verdict, RegularDeepFallsAreASawtoothAndNoRestarts) {
    const Judgement judgement =
        judge(drawn(7200, 5, [](double t) { return kGiB * (1 + 7 * std::fmod(t, 900) / 900); }));
    EXPECT_FALSE(judgement.restarted);
    EXPECT_EQ(judgement.verdict, Verdict::spiky);
}

TEST(Verdict, TheClockOfTheSeriesDoesNotMatter) {
    const auto curve = [](double t) { return kGiB * (4 + t / 3000); };
    const Judgement here = judge(drawn(3600, 1, curve));
    const Judgement there = judge(drawn(3600, 1, curve, 1.7e9));
    EXPECT_EQ(here.verdict, there.verdict);
    EXPECT_NEAR(here.floor_slope, there.floor_slope, 1);
}

TEST(Verdict, AHigherBarPreventsAnAccusation) {
    const Series series = drawn(3600, 1, [](double t) { return kGiB * (4 + 0.08 * t / 3600); });
    EXPECT_EQ(verdict(series), Verdict::leaking);
    EXPECT_NE(judge(series, {.evidence = {.bar = 4}}).verdict, Verdict::leaking);
}

TEST(Judge, SaysTheSameAgainForTheSameSamples) {
    Judge first;
    Judge second;
    for (int t = 0; t < 5000; ++t) {
        const Bytes bytes{static_cast<std::uint64_t>(kGiB * (4 + t / 4000.0))};
        first.add(Seconds(t), bytes);
        second.add(Seconds(t), bytes);
        ASSERT_EQ(first.latest().verdict, second.latest().verdict);
        ASSERT_EQ(first.latest().until, second.latest().until);
    }
    EXPECT_EQ(first.latest().verdict, Verdict::leaking);
    EXPECT_EQ(first.now().until, Seconds(4999));
    EXPECT_GE(first.latest().until, Seconds(4999 - 80));
}

TEST(Verdict, AFewLongTeethWhoseBottomsRiseAreALeak) {
    const auto teeth = [](double leak) {
        return drawn(6500, 5, [=](double t) { return kGiB * (8 + leak * t / 6500 + 2 * std::fmod(t, 1050) / 1050); });
    };
    EXPECT_EQ(verdict(teeth(1)), Verdict::leaking);
    EXPECT_EQ(verdict(teeth(0)), Verdict::spiky);
}

// The sampling interval nearly divides the period, so the lowest sample of each tooth rises by up to 1 GiB.
TEST(Verdict, AFloorThatRisesBecauseThePhaseOfTheSamplesDriftsIsNoLeak) {
    for (const double period : {79.5, 79.7, 79.8, 79.85, 79.9})
        for (double length = 2000; length <= 6000; length += 500)
            EXPECT_NE(
                verdict(drawn(length, 10, [=](double t) { return kGiB * (20 + 8 * std::fmod(t, period) / period); })),
                Verdict::leaking)
                << period << ' ' << length;
}

TEST(Verdict, AFloorThatJumpsTwiceBelowSpikesIsNoLeak) {
    const auto jumps = [](double t) {
        const double floor = 20.0 + (t > 1400 ? 2 : 0) + (t > 2300 ? 2 : 0);
        return kGiB * (floor + (std::fmod(t, 110) < 25 ? 6 : 0));
    };
    for (double length = 1500; length <= 4500; length += 100)
        EXPECT_NE(verdict(drawn(length, 10, jumps)), Verdict::leaking) << length;
}

// Between spikes the floor is visible most of the time, so a fraction of a period after a gap shows it.
TEST(Verdict, ALeakBelowSpikesIsCalledSoonAfterAGap) {
    Series series;
    for (double t = 0; t <= 4300; t += 5) {
        if (t > 3150 && t < 3750) continue;
        const double leaked = 2.0 * std::max(0.0, t - 3000) / 3600;
        const double spike = std::fmod(t, 600) < 40 ? 3 : 0;
        series.add(Seconds(t), Bytes{static_cast<std::uint64_t>(kGiB * (10 + leaked + spike))});
    }
    EXPECT_EQ(verdict(series), Verdict::leaking);
}

}  // namespace verdict_test
}  // namespace memscope
