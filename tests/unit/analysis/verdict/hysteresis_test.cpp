// When a verdict changes, and when it stays.
#include "analysis/verdict/hysteresis.h"

#include <cmath>
#include <gmock/gmock.h>

#include "analysis/verdict/judge.h"
#include "analysis/verdict/verdict_sentence.h"
#include "curves.h"
#include "series/chance.h"

namespace memscope {
namespace hysteresis_test {

using testing::ElementsAre;
using testing::HasSubstr;

// What a watcher shows at each of its judgements.
struct Watched {
    std::vector<Verdict> words{};  // verdicts that differ from the one before; `insufficient` is left out
    std::vector<double> since{};
    Judge judge{};

    Verdict last() const { return judge.now().verdict; }
};

Watched watch(double length, double interval, const std::function<double(double)>& bytes,
              const JudgeSettings& settings = {}) {
    Watched watched{.judge = Judge(settings)};
    for (double t = 0; t <= length; t += interval) {
        watched.judge.add(Seconds(t), Bytes{static_cast<std::uint64_t>(bytes(t))});
        const Verdict is = watched.judge.latest().verdict;
        if (is == Verdict::insufficient || (!watched.words.empty() && watched.words.back() == is)) continue;
        watched.words.push_back(is);
        watched.since.push_back(t);
    }
    return watched;
}

// 6 GiB of model are loaded within half a minute, then memory grows by `grown` GiB until the job ends.
std::function<double(double)> loop_of(double length, double grown, double warm) {
    return [=](double t) {
        const double age = std::fmod(t, length);
        if (age < 20) return 0.3 * kGiB;
        return kGiB * (0.3 + 5.7 * std::min(1.0, (age - 20) / 30) + grown * std::min(1.0, age / warm));
    };
}

TEST(Hysteresis, ALeakStaysUntilItsSlopeIsRuledOut) {
    const auto stopped = through({{0, 4 * kGiB}, {4000, 6 * kGiB}, {9000, 6 * kGiB}});
    const Watched watched = watch(9000, 5, stopped);
    ASSERT_THAT(watched.words, ElementsAre(Verdict::warming_up, Verdict::leaking, Verdict::stable));
    EXPECT_GT(watched.since[2], 4000);
    EXPECT_LT(watched.since[2], 5500);
}

// The line through a rise that has ended still rises for some time. Such judgements do not renew the accusation.
TEST(Hysteresis, AShortLeakThatStoppedIsSoonStable) {
    const auto stopped = [](double t) {
        return kGiB * (100 + 16.0 * std::clamp(t - 750, 0.0, 1050.0) / 3600 + 0.1 * std::sin(37 * t));
    };
    const Watched watched = watch(2500, 3, stopped);
    ASSERT_THAT(watched.words, ElementsAre(Verdict::stable, Verdict::leaking, Verdict::stable));
    EXPECT_LT(watched.since[2], 1800 + 600);
}

// An accusation is not renewed even if lines through noise say `leaking` for longer than the time after which
// accusations are renewed.
TEST(Hysteresis, AnAccusationIsNotRenewedWhileTheFloorIsFlat) {
    int accused = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        made::Chance chance(seed);
        const auto stopped = [&](double t) {
            return kGiB * (5.55 + 0.73 * std::clamp(t - 850, 0.0, 1180.0) / 3600 + 0.02 * chance.normal());
        };
        accused += watch(2030 + 14 * 60, 15, stopped).last() == Verdict::leaking ? 1 : 0;
    }
    EXPECT_LE(accused, 5) << "14 minutes after the leak stopped";
}

TEST(Hysteresis, ALeakThatPausesBrieflyStaysOne) {
    const auto paused = [](double t) { return kGiB * (4 + (t < 4000 ? t : t < 4120 ? 4000 : t - 120) / 2000); };
    EXPECT_THAT(watch(9000, 5, paused).words, ElementsAre(Verdict::warming_up, Verdict::leaking));
}

// The lowest sample of some minutes is the bottom of a wave, which is below the line of the leak.
TEST(Hysteresis, ALeakOfMemoryThatWandersIsNotRefutedByADip) {
    const auto wave = [](double t) { return 10 * kGiB * (1 + 0.12 * t / 5400 + 0.03 * std::sin(2 * M_PI * t / 500)); };
    EXPECT_THAT(watch(5400, 5, wave).words, ElementsAre(Verdict::warming_up, Verdict::stable, Verdict::leaking));
}

TEST(Hysteresis, SpikyStaysWhileSpikesKeepComing) {
    const auto spikes = [](double until) {
        return [=](double t) { return kGiB * (4 + (t < until && std::fmod(t, 300) < 20 ? 1 : 0)); };
    };
    EXPECT_THAT(watch(9000, 3, spikes(1e9)).words, ElementsAre(Verdict::stable, Verdict::spiky));
    // Long after the last spike, a judgement no longer finds spikes in the curve.
    const Watched over = watch(90000, 10, spikes(1500));
    EXPECT_THAT(over.words, ElementsAre(Verdict::stable, Verdict::spiky, Verdict::stable));
    EXPECT_GT(over.since.back(), 1500 + 2 * 300);
}

TEST(Hysteresis, APauseOfAWarmUpIsNotStable) {
    // Flat from 60 s to 130 s: the first judgement is at 120 s.
    const auto paused = through({{0, kGiB}, {60, 3 * kGiB}, {130, 3 * kGiB}, {400, 6 * kGiB}, {3000, 6 * kGiB}});
    const Watched watched = watch(3000, 1, paused);
    EXPECT_THAT(watched.words, ElementsAre(Verdict::warming_up, Verdict::stable));
    EXPECT_GT(watched.since[1], 400);
}

TEST(Hysteresis, SlowGrowthRightAfterLoadingIsNotStable) {
    // 20 % an hour after a quick start: flat beside the loading, not beside the level.
    const auto slow = through({{0, 4 * kGiB}, {400, 9 * kGiB}, {6400, 12 * kGiB}});
    const auto noisy = [=](double t) { return slow(t) + 0.03 * kGiB * std::sin(t * 1.7); };
    EXPECT_THAT(watch(1100, 5, noisy).words, ElementsAre(Verdict::warming_up));
    EXPECT_EQ(watch(6400, 5, noisy).words.back(), Verdict::leaking);
}

TEST(Hysteresis, ARestartOfASpikyCurveIsShownLateUnlessTheProcessTreeReportsIt) {
    VerdictHysteresis hysteresis;
    Series series;
    const auto settle = [&](Verdict verdict, double until, std::optional<double> restarted, bool from_tree) {
        Judgement judged{.verdict = verdict, .floor = Bytes{4ULL << 30U}};
        judged.since = Seconds(restarted.value_or(0));
        judged.until = Seconds(until);
        judged.warmup = Seconds(1200);
        if (restarted) judged.restarted = Seconds(*restarted);
        if (verdict == Verdict::spiky) judged.spike = Spike{.height = Bytes{8ULL << 30U}, .period = Seconds(1500)};
        if (verdict == Verdict::spiky) judged.last_spike = Seconds(until - 10);
        series.add(Seconds(until), Bytes{4ULL << 30U});
        return hysteresis.settle(judged, series, from_tree).verdict;
    };
    ASSERT_EQ(settle(Verdict::spiky, 3000, {}, false), Verdict::spiky);
    const VerdictHysteresis before = hysteresis;
    EXPECT_EQ(settle(Verdict::warming_up, 3150, 3050, false), Verdict::spiky);
    EXPECT_EQ(settle(Verdict::warming_up, 3300, 3050, false), Verdict::warming_up);
    hysteresis = before;
    EXPECT_EQ(settle(Verdict::warming_up, 3310, 3200, true), Verdict::warming_up);
}

// Judgements made by hand, one every 30 s, of a curve that is flat at 4 GiB.
struct ByHand {
    VerdictHysteresis hysteresis{};
    Series series{};
    Judgement next{.floor = Bytes{4ULL << 30U}};

    ByHand() { next.warmup = Seconds(1200); }

    Verdict judge(Verdict verdict) {
        next.until += Seconds(30);
        next.verdict = verdict;
        next.spike.reset();
        next.last_spike.reset();
        if (verdict == Verdict::spiky) {
            next.spike = Spike{.height = Bytes{1ULL << 30U}, .period = Seconds(60)};
            next.last_spike = next.until;
        }
        series.add(next.until, next.floor);
        return hysteresis.settle(next, series).verdict;
    }

    // The time for which judgements must have this verdict until it is shown.
    Seconds until_shown(Verdict verdict) {
        const Seconds from = next.until + Seconds(30);
        for (int i = 0; i < 1000; ++i)
            if (judge(verdict) == verdict) return next.until - from;
        return Seconds(-1);
    }
};

TEST(Hysteresis, AfterManyChangesANewVerdictNeedsMoreEvidence) {
    ByHand calm;
    calm.until_shown(Verdict::warming_up);
    calm.until_shown(Verdict::stable);
    EXPECT_EQ(calm.until_shown(Verdict::spiky), Seconds(60));

    ByHand restless;
    restless.next.confidence = 0.95;
    restless.next.doubt = Doubt::decelerating;  // an accusation with this doubt ends soon
    for (int i = 0; i < 2; ++i)
        for (const Verdict word : {Verdict::warming_up, Verdict::leaking})
            ASSERT_GE(restless.until_shown(word), Seconds(0));
    ASSERT_GE(restless.until_shown(Verdict::stable), Seconds(0));
    EXPECT_EQ(restless.until_shown(Verdict::spiky), Seconds(4 * 60)) << "`stable` was never left before";
}

// A job that loads its model in parts, with a pause after each part.
struct LoadingInParts : ByHand {
    LoadingInParts() { judge(Verdict::warming_up); }

    // A pause until `end` that is called stable. Then the next part of the model is loaded.
    void pause_until(Seconds end) {
        EXPECT_GE(until_shown(Verdict::stable), Seconds(0));
        while (next.until + Seconds(30) < end) judge(Verdict::stable);
        next.floor.n *= 2;
        EXPECT_GE(until_shown(Verdict::warming_up), Seconds(0));
    }
};

TEST(Hysteresis, AfterAPauseOfTheLoadingAPlateauMustLastLonger) {
    LoadingInParts late;
    late.pause_until(Seconds(2100));
    late.until_shown(Verdict::stable);
    EXPECT_EQ(late.next.until, Seconds(3000)) << "three tenths of the time since the start";

    LoadingInParts very_late;
    very_late.pause_until(Seconds(9000));
    very_late.until_shown(Verdict::stable);
    EXPECT_EQ(very_late.next.until, Seconds(9000 + 1200)) << "the budget";
}

TEST(Hysteresis, AfterAPauseOfTheLoadingAFloorThatStillRisesIsNotStable) {
    LoadingInParts job;
    job.pause_until(Seconds(270));
    for (int part = 0; part < 10; ++part) {
        job.next.floor.n += job.next.floor.n / 30;
        for (int i = 0; i < 10; ++i) ASSERT_EQ(job.judge(Verdict::stable), Verdict::warming_up) << part;
    }
}

TEST(Hysteresis, AfterAPauseOfTheLoadingTheNextRunNeedsThePlateauOfALongRun) {
    LoadingInParts job;
    job.pause_until(Seconds(270));
    job.next.since = job.next.until + Seconds(30);
    job.next.restarted = job.next.since;
    job.judge(Verdict::warming_up);
    job.until_shown(Verdict::stable);
    EXPECT_EQ(job.next.until - job.next.since, Seconds(480)) << "two fifths of the budget";
}

TEST(Hysteresis, APauseWhileLoadingDoesNotDelayAnAccusation) {
    LoadingInParts job;
    job.pause_until(Seconds(270));
    LoadingInParts sure = job;
    sure.next.confidence = 0.95;
    EXPECT_EQ(sure.judge(Verdict::leaking), Verdict::leaking);
    EXPECT_EQ(job.until_shown(Verdict::leaking), Seconds(60)) << "two judgements, a 25th of the budget apart";
}

// The time for which `leaking` stays after the verdicts `before`, if all later judgements have the verdict `then`.
Seconds time_of_accusation(std::initializer_list<Verdict> before, double slope, Verdict then) {
    ByHand job;
    job.next.until = Seconds(5000);
    for (const Verdict word : before) EXPECT_GE(job.until_shown(word), Seconds(0));
    job.next.confidence = 0.95;
    job.next.floor_slope = slope;
    job.next.rise = kGiB;
    EXPECT_EQ(job.judge(Verdict::leaking), Verdict::leaking);
    return job.until_shown(then);
}

TEST(Hysteresis, AfterManyChangesAnAccusationEndsAsSoonAsUsual) {
    const auto accused_for = [](std::initializer_list<Verdict> before) {
        return time_of_accusation(before, 100e3, Verdict::stable);
    };
    const Seconds usual = accused_for({Verdict::warming_up, Verdict::stable});
    EXPECT_LT(usual, Seconds(1200)) << "before the budget is over";
    EXPECT_EQ(accused_for({Verdict::warming_up, Verdict::stable, Verdict::spiky, Verdict::stable, Verdict::spiky}),
              usual);
}

// The memory still grows, so this change may come later than a change to `stable`.
TEST(Hysteresis, AfterManyChangesGrowthThatSlowsDownReplacesALeakLater) {
    const auto accused_for = [](std::initializer_list<Verdict> before) {
        return time_of_accusation(before, 10e6, Verdict::warming_up);
    };
    EXPECT_EQ(accused_for({Verdict::warming_up, Verdict::stable}), Seconds(120));
    EXPECT_EQ(accused_for({Verdict::warming_up, Verdict::stable, Verdict::spiky, Verdict::stable, Verdict::spiky}),
              Seconds(480));
}

TEST(Hysteresis, ALeakEndsOnceNoJudgementHasAccusedForATenthOfTheTime) {
    ByHand slow;
    slow.next.until = Seconds(100000);
    slow.next.confidence = 0.95;
    slow.next.floor_slope = 1;  // bytes per second: too slow to be refuted by later samples
    slow.next.rise = kGiB;
    ASSERT_EQ(slow.judge(Verdict::leaking), Verdict::leaking);
    const Seconds lasted = slow.until_shown(Verdict::stable);
    EXPECT_GE(lasted, Seconds(11000)) << "a tenth of 111,000 s";
    EXPECT_LE(lasted, Seconds(11200));
}

TEST(Hysteresis, AFileIsJudgedAsAWatcherWouldAtItsLastSample) {
    const auto noisy = [](double t) {
        return kGiB * (5 + 0.4 * std::fmod(t, 700) / 700 + 0.05 * std::floor(t / 700) + 0.02 * std::sin(t));
    };
    Judge watcher;
    for (double t = 0; t < 9000; t += 5) {
        const Bytes size{static_cast<std::uint64_t>(noisy(t))};
        watcher.add(Seconds(t), size);
        if (std::fmod(t, 900) != 0) continue;
        Judge file;
        for (double u = 0; u <= t; u += 5) file.add(Seconds(u), Bytes{static_cast<std::uint64_t>(noisy(u))});
        EXPECT_EQ(file.now().verdict, watcher.now().verdict) << t;
    }
}

TEST(CrashLoop, RepeatedRunsThatLeakAreALeak) {
    for (const int runs : {2, 4, 7}) {
        const Watched watched = watch(5400 * (runs - 0.3), 5, loop_of(5400, 8, 5400));
        EXPECT_EQ(watched.last(), Verdict::leaking) << runs;
        EXPECT_LE(watched.words.size(), 4U) << runs << testing::PrintToString(watched.since);
    }
}

TEST(CrashLoop, TheJudgementDescribesTheLoop) {
    const Watched watched = watch(5400 * 5 + 600, 5, loop_of(5400, 8, 5400));
    const Judgement judgement = watched.judge.now();
    ASSERT_TRUE(judgement.loop);
    EXPECT_EQ(judgement.loop->restarts, 5);
    EXPECT_TRUE(judgement.loop->all_leaked);
    EXPECT_TRUE(judgement.loop->decides) << "a run of ten minutes says nothing by itself";
    EXPECT_NEAR(judgement.loop->slope, 8 * kGiB / 5400, 0.4 * kGiB / 5400);
    const std::string text = verdict_sentence(judgement, Seconds(0), Bytes{14ULL << 30U});
    EXPECT_THAT(text, HasSubstr("The job was restarted 5 times, and each of the last runs leaked 5.3 GiB/h and died at "
                                "the limit of 14 GiB after about 90 min"));
    EXPECT_THAT(verdict_sentence(judgement, Seconds(0)), HasSubstr("ended at 14 GiB after"));
}

TEST(CrashLoop, AHealthyJobThatIsRestartedStaysHealthy) {
    const Watched watched = watch(5400 * 6.5, 5, loop_of(5400, 4, 300));
    EXPECT_THAT(watched.words, testing::Not(testing::Contains(Verdict::leaking)));
    EXPECT_LE(watched.words.size(), 4U);
}

TEST(CrashLoop, ATrainerThatFreesItsEpochBufferIsNoCrashLoop) {
    // An epoch takes 50 minutes. The first one cannot be distinguished from a leak until its memory is given back.
    const Watched watched = watch(3000 * 6.5, 5, [](double t) { return kGiB * (1 + 9 * std::fmod(t, 3000) / 3000); });
    EXPECT_EQ(watched.last(), Verdict::spiky);
    EXPECT_FALSE(watched.judge.now().restarted);
    EXPECT_EQ(std::ranges::count(watched.words, Verdict::leaking), 1);
}

TEST(CrashLoop, OnlyTheProcessTreeDefinesRestartsIfItIsKnown) {
    const auto loop = loop_of(5400, 8, 5400);
    Judge judge({.evidence = {.restarts = std::vector<Seconds>{}}});
    Judge without_restart({.evidence = {.restarts = std::vector<Seconds>{}}});
    for (double t = 0; t <= 5400 * 1.3; t += 5) {
        const Bytes size{static_cast<std::uint64_t>(loop(t))};
        if (t == 5405) judge.restart(Seconds(t));
        judge.add(Seconds(t), size);
        without_restart.add(Seconds(t), size);
    }
    ASSERT_TRUE(judge.now().restarted);
    EXPECT_NEAR(judge.now().restarted->count(), 5400, 60);
    EXPECT_EQ(judge.now().verdict, Verdict::leaking) << "27 minutes of the second run";
    const Judgement fell = without_restart.now();
    EXPECT_TRUE(!fell.restarted || fell.only_fell) << "without a restart of the tree, memory only fell";
}

// Memory stays at the limit for some time before the kernel kills the job. That is no plateau of the job.
TEST(CrashLoop, ARunThatTheOomKillerEndedHasNotSettled) {
    constexpr double kRun = 1300;  // it reaches its limit after 1,000 s
    const auto loop = [](double t) {
        const double age = std::fmod(t, kRun);
        return age < 20 ? 0.3 * kGiB : kGiB * (2 + 6 * std::min(1.0, age / 1000));
    };
    const auto settled = [&](bool killed) {
        Judge judge({.warmup = Seconds(600), .evidence = {.restarts = std::vector<Seconds>{}}});
        bool said = false;
        for (double t = 0; t <= 4 * kRun; t += 5) {
            if (t > 0 && std::fmod(t, kRun) == 0) {
                if (killed) judge.oom_killed(Seconds(t));
                judge.restart(Seconds(t));
            }
            judge.add(Seconds(t), Bytes{static_cast<std::uint64_t>(loop(t))});
            said = said || (judge.latest().loop && judge.latest().loop->all_settled);
        }
        return said;
    };
    EXPECT_TRUE(settled(false)) << "without the kill it is a warm-up and a plateau";
    EXPECT_FALSE(settled(true));
}

// Measured: the kernel freed the memory of each killed trainer within about 200 ms.
TEST(CrashLoop, TheFreeingOfMemoryAfterAKillIsNoPartOfTheRun) {
    const std::vector<std::vector<double>> runs{{81, 95, 111, 127, 144, 160, 175, 192, 208, 223, 240, 182, 181},
                                                {74, 88, 102, 118, 134, 150, 167, 182, 198, 215, 231, 246, 181, 134},
                                                {84, 98, 116, 132, 148, 164, 180, 196, 212, 227, 243, 181, 47},
                                                {15, 80, 96, 113, 129, 145, 161, 177, 193, 209, 225, 241, 219, 143},
                                                {25, 83, 98}};
    Judge judge({.warmup = Seconds(0.5), .evidence = {.restarts = std::vector<Seconds>{}}});
    double t = 0;
    for (const auto& run : runs) {
        if (t > 0) judge.restart(Seconds(t));
        for (const double mebibytes : run) {
            judge.add(Seconds(t), Bytes{static_cast<std::uint64_t>(mebibytes * 1024 * 1024)});
            EXPECT_FALSE(judge.latest().loop && judge.latest().loop->all_settled) << t;
            t += 0.15;
        }
    }
    ASSERT_TRUE(judge.latest().loop);
    EXPECT_TRUE(judge.latest().loop->all_leaked);
    EXPECT_EQ(judge.latest().verdict, Verdict::leaking);
}

// A job that is killed while it grows, and whose last samples are equal.
TEST(CrashLoop, AFewEqualSamplesBeforeTheEndAreNoPlateau) {
    const auto loop = [](double t) {
        const double age = std::fmod(t, 1000);
        return age < 20 ? 0.3 * kGiB : kGiB * (2 + 6 * std::min(1.0, age / 900));
    };
    Judge judge({.warmup = Seconds(1200), .evidence = {.restarts = std::vector<Seconds>{}}});
    for (double t = 0; t <= 4500; t += 5) {
        if (t > 0 && std::fmod(t, 1000) == 0) judge.restart(Seconds(t));
        judge.add(Seconds(t), Bytes{static_cast<std::uint64_t>(loop(t))});
        EXPECT_FALSE(judge.latest().loop && judge.latest().loop->all_settled) << t;
    }
}

TEST(CrashLoop, ARestartEndsTheVerdictOfTheRunBefore) {
    Judge judge({.evidence = {.restarts = std::vector<Seconds>{}}});
    for (double t = 0; t < 3600; t += 5) judge.add(Seconds(t), Bytes{static_cast<std::uint64_t>(kGiB * (4 + t / 900))});
    EXPECT_EQ(judge.latest().verdict, Verdict::leaking);
    judge.restart(Seconds(3600));
    for (double t = 3600; t < 3660; t += 5) {
        judge.add(Seconds(t), Bytes{1ULL << 30U});
        if (t <= 3620) continue;
        EXPECT_NE(judge.latest().verdict, Verdict::leaking) << t;
    }
}

TEST(Explain, DoesNotRecommendToWaitForGrowthAtAConstantRate) {
    const Watched watched = watch(240, 1, [](double t) { return kGiB * (1 + 0.2 * t / 60); });
    const std::string text = verdict_sentence(watched.judge.now(), Seconds(0), Bytes{2ULL << 30U});
    EXPECT_EQ(watched.last(), Verdict::warming_up);
    EXPECT_THAT(text, HasSubstr("grew at a constant rate of 205 MiB/min for 4 min and gave nothing back"));
    EXPECT_THAT(text, HasSubstr("the limit of 2.0 GiB is reached in 60 s"));
    EXPECT_THAT(text, HasSubstr("a warm-up usually slows down"));
    EXPECT_THAT(text, testing::Not(HasSubstr("wait")));
}

TEST(Explain, RoomIsNeverLessThanTheHighestSinceTheWarmUp) {
    const auto uneven = [](double t) {
        if (std::fmod(t, 300) >= 20) return 4 * kGiB;
        return kGiB * (std::fmod(t, 1500) < 300 ? 7 : 5);  // every fifth spike is three times as high
    };
    const Judgement judgement = watch(7200, 5, uneven).judge.now();
    EXPECT_EQ(judgement.verdict, Verdict::spiky);
    EXPECT_EQ(judgement.room, Bytes{7ULL << 30U});
    EXPECT_THAT(verdict_sentence(judgement, Seconds(0)), HasSubstr("leave room for 7.0 GiB"));
}

// Each fall is a quarter to a third of the level, so some are deep enough for a restart and some are not. Gaps in the
// samples hide others.
TEST(Hysteresis, UnevenTeethAreNoRestarts) {
    const std::vector<double> falls{-500, 285, 825, 1372, 2030, 2840, 3560, 4390, 5195, 5820, 6630, 7395, 8165, 9000};
    Judge job;
    std::vector<Verdict> words;
    for (double t = 0; t < 8400; t += 3) {
        if ((t > 2240 && t < 2890) || (t > 4210 && t < 4650) || (t > 6565 && t < 6815)) continue;
        const double fell = *std::prev(std::ranges::upper_bound(falls, t));
        const double bytes = kGiB * (10.2 + 0.0068 * (t - fell) + 0.03 * std::sin(37 * t));
        job.add(Seconds(t), Bytes{static_cast<std::uint64_t>(bytes)});
        const Verdict is = job.latest().verdict;
        if (is != Verdict::insufficient && (words.empty() || words.back() != is)) words.push_back(is);
    }
    EXPECT_LE(words.size(), 4U) << testing::PrintToString(words);
    EXPECT_THAT(words, testing::Not(testing::Contains(Verdict::leaking)));
    EXPECT_EQ(words.back(), Verdict::spiky);
}

}  // namespace hysteresis_test
}  // namespace memscope
