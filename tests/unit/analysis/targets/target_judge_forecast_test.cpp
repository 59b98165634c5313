// Limits, forecasts and the end of a job.
#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/targets/target_judge.h"
#include "judged_job.h"

namespace memscope {
namespace target_judge_forecast_test {

using namespace judged;
using testing::HasSubstr;

TEST(TargetJudge, ForetellsWhenTheLimitIsReached) {
    Watched watched;
    watched.run(3600, [](double t) { return job(2 * kGiB + static_cast<std::uint64_t>(t) * kMiB / 2); });
    ASSERT_TRUE(watched.latest.verdict()->forecast);
    const double left = static_cast<double>(16 * kGiB - 24 * kMiB - 2 * kGiB) / (0.5 * kMiB) - 3600;
    EXPECT_NEAR(watched.latest.verdict()->forecast->eta.count(), left, 0.05 * left);
    EXPECT_EQ(watched.latest.verdict()->forecast->basis, Forecast::Basis::leak);
    EXPECT_EQ(watched.latest.verdict()->forecast->limit->owner, "own");
}

TEST(TargetJudge, TimesAreOnTheWallClock) {
    Watched watched;
    watched.run(3600, [](double t) { return job(2 * kGiB + static_cast<std::uint64_t>(t) * kMiB / 2); });
    EXPECT_NEAR(watched.latest.verdict()->began.count(), kWall.count() + 1000, 1);
    EXPECT_GT(watched.latest.verdict()->judgement.until, kWall);
}

TEST(TargetJudge, ALimitThatSiblingsFillIsForeseen) {
    Watched watched;
    watched.run(3600, [](double t) {
        TargetSnapshot target = job(2 * kGiB);
        add_limit(target, "host", 64 * kGiB, 8 * kGiB + static_cast<std::uint64_t>(t) * 4 * kMiB);
        return target;
    });
    ASSERT_TRUE(watched.forecast());
    ASSERT_TRUE(watched.forecast()->limit);
    EXPECT_EQ(watched.forecast()->limit->owner, "host");
    EXPECT_EQ(watched.forecast()->limit->limit.n, 64 * kGiB);
    EXPECT_LT(watched.forecast()->own_share, 0.05) << "the job itself does not grow";
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::stable);
    EXPECT_THAT(watched.latest.verdict()->explanation, HasSubstr("the host's memory (64 GiB) is reached in"));
}

// A job with constant memory at 95 % of its own limit, on a host that other jobs fill within days.
TEST(TargetJudge, AForecastElsewhereDoesNotHideTheLimitWithTheLeastHeadroom) {
    Watched watched;
    watched.run(7200, [](double t) {
        TargetSnapshot target = job(15 * kGiB);
        add_limit(target, "host", 512 * kGiB, 64 * kGiB + static_cast<std::uint64_t>(t) * 3 * kMiB);
        return target;
    });
    ASSERT_TRUE(watched.latest.memory.effective);
    EXPECT_EQ(watched.latest.memory.effective->owner, "own");
    EXPECT_EQ(watched.latest.memory.effective->headroom.n, kGiB - 24 * kMiB);
    ASSERT_TRUE(watched.forecast());
    EXPECT_EQ(watched.forecast()->limit->owner, "host");
    EXPECT_GT(watched.forecast()->eta, std::chrono::hours(24));
}

TEST(TargetJudge, TheEarlierOfTwoForecastsIsShown) {
    Watched watched;
    watched.run(3600, [](double t) {
        const auto grown = static_cast<std::uint64_t>(t) * kMiB / 2;
        TargetSnapshot target = job(2 * kGiB + grown);
        add_limit(target, "jobs", 32 * kGiB, 8 * kGiB + static_cast<std::uint64_t>(t) * 3 * kMiB);
        return target;
    });
    ASSERT_TRUE(watched.forecast());
    EXPECT_EQ(watched.forecast()->limit->owner, "jobs");
    EXPECT_NEAR(watched.forecast()->own_share, 1.0 / 7, 0.03);
    ASSERT_EQ(watched.judge.forecasts().size(), 2U) << "the other forecast is kept";
    EXPECT_EQ(watched.judge.forecasts()[1].limit->owner, "own");
    EXPECT_LT(watched.judge.forecasts()[0].eta, watched.judge.forecasts()[1].eta);
}

TEST(TargetJudge, TheForecastAgesBetweenTwoJudgements) {
    Watched watched;
    std::vector<double> etas;
    watched.run(
        3720,
        [&](double t) {
            if (t > 3600 && watched.forecast()) etas.push_back(watched.forecast()->eta.count());
            return job(2 * kGiB + static_cast<std::uint64_t>(t) * kMiB / 2);
        },
        1);
    ASSERT_GT(etas.size(), 100U);
    for (std::size_t i = 1; i < etas.size(); ++i) {
        EXPECT_LT(etas[i], etas[i - 1] + 20) << i;  // a new judgement may correct the rate a little
        EXPECT_GT(etas[i], etas[i - 1] - 20) << i;
    }
    EXPECT_NEAR(etas.back(), etas.front() - static_cast<double>(etas.size() - 1), 40);
}

TEST(TargetJudge, ALimitThatIsRaisedCountsAtOnce) {
    Watched watched;
    const auto grow = [](double t) { return job(2 * kGiB + static_cast<std::uint64_t>(t) * kMiB / 2); };
    watched.run(3600, grow);
    const Seconds before = watched.forecast()->eta;
    watched.run(1, [](double) {
        TargetSnapshot target = job(2 * kGiB + 1800 * kMiB);
        target.memory.candidates[0].limit = {32 * kGiB};
        return target;
    });
    EXPECT_GT(watched.forecast()->eta, 1.5 * before);
}

// A job that was running before watching began and grows to its limit within 90 s.
TEST(TargetJudge, ARiseNearTheLimitIsForeseenWithoutAVerdict) {
    Watched watched;
    std::optional<double> foreseen_at;
    watched.run(
        91,
        [&](double t) {
            if (t > 0 && !foreseen_at && watched.forecast()) foreseen_at = t;
            return job(static_cast<std::uint64_t>((60 + t) / 151 * 16 * kGiB));
        },
        1);
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::insufficient);
    ASSERT_TRUE(foreseen_at);
    EXPECT_NEAR(*foreseen_at, 0.8 * 151 - 60, 3) << "as soon as four fifths of the limit are in use";
    ASSERT_TRUE(watched.forecast());
    EXPECT_EQ(watched.forecast()->basis, Forecast::Basis::trend);
    EXPECT_EQ(watched.forecast()->limit->owner, "own");
    EXPECT_LT(watched.forecast()->eta, Seconds{3});
    EXPECT_FALSE(watched.forecast()->latest) << "it may end";
    EXPECT_THAT(watched.latest.verdict()->explanation, HasSubstr("lately rose by"));
}

TEST(TargetJudge, ARiseOfAMinuteBelowEightyPercentHasNoForecast) {
    Watched watched;
    watched.run(60, [&](double t) { return job(static_cast<std::uint64_t>((20 + 0.95 * t) / 100 * 16 * kGiB)); }, 1);
    EXPECT_FALSE(watched.forecast());
}

// Validations that take the job from 70 to 93 % in 20 s, every five minutes.
TEST(TargetJudge, ASpikeBelowAKnownPeakIsNoTrend) {
    Watched watched;
    int foreseen = 0;
    const auto validations = [&](double t) {
        if (t > 0 && watched.forecast() && watched.forecast()->basis == Forecast::Basis::trend) ++foreseen;
        const double phase = std::fmod(t, 300);
        const double share = phase < 20 ? 0.70 + 0.23 * phase / 20 : phase < 30 ? 0.93 : 0.70;
        return job(static_cast<std::uint64_t>(share * 16 * kGiB));
    };
    watched.run(600, validations, 1);
    EXPECT_GT(foreseen, 0) << "the first two spikes look like the way to an OOM kill";
    foreseen = 0;
    watched.run(1200, validations, 1);
    EXPECT_EQ(foreseen, 0) << "there is no verdict yet, but memory fell back twice";
    watched.run(3600, validations, 1);
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::spiky);
    EXPECT_EQ(foreseen, 0);
    // A rise beyond the usual peak is alarming.
    bool beyond = false;
    watched.run(
        26,
        [&](double t) {
            beyond = beyond || (t > 0 && watched.forecast());
            return job(static_cast<std::uint64_t>((0.70 + 0.23 * t / 20) * 16 * kGiB));
        },
        1);
    EXPECT_TRUE(beyond);
}

TEST(TargetJudge, TheTrendFollowsItsSettings) {
    Watched watched;
    watched.judge = TargetJudge(std::chrono::minutes(20), {.held = 0.5, .horizon = Seconds{1000}});
    watched.run(61, [&](double t) { return job(static_cast<std::uint64_t>((0.3 + 0.005 * t) * 16 * kGiB)); }, 1);
    ASSERT_TRUE(watched.forecast());
    EXPECT_EQ(watched.forecast()->basis, Forecast::Basis::trend);
    EXPECT_NEAR(watched.forecast()->eta.count(), 80, 5);
}

TEST(TargetJudge, AnEndedJobHasNoForecast) {
    Watched watched;
    watched.run(3600, [](double t) { return job(2 * kGiB + static_cast<std::uint64_t>(t) * kMiB / 2); });
    ASSERT_TRUE(watched.forecast());
    EXPECT_FALSE(watched.judge.job_ended());
    const double ended = watched.now;
    const auto empty = [](double) {
        TargetSnapshot target;
        target.memory.unreclaimable = {20 * kMiB};
        target.memory.candidates = {{"own", {16 * kGiB}, {20 * kMiB}}};
        return target;
    };
    watched.run(1, empty, 1);
    EXPECT_FALSE(watched.forecast());
    EXPECT_EQ(watched.judge.job_ended(), Seconds(ended));
    EXPECT_THAT(watched.latest.verdict()->explanation, testing::Not(HasSubstr("reached")));
    watched.run(600, empty, 1);
    EXPECT_FALSE(watched.forecast());
}

// The kernel needs some time to free the memory of a large process after the process has left the tree.
TEST(TargetJudge, AnEndedJobHasNoTrendWhileItsMemoryIsBeingFreed) {
    Watched watched;
    watched.run(88, [](double t) { return job(static_cast<std::uint64_t>((60 + t) / 151 * 16 * kGiB)); }, 1);
    ASSERT_TRUE(watched.forecast());
    ASSERT_EQ(watched.forecast()->basis, Forecast::Basis::trend);
    watched.run(
        1,
        [](double) {
            TargetSnapshot target;
            target.memory.unreclaimable = {15 * kGiB + kGiB / 2};
            target.memory.candidates = {{"own", {16 * kGiB}, {15 * kGiB + kGiB / 2}}};
            return target;
        },
        1);
    EXPECT_TRUE(watched.judge.job_ended());
    EXPECT_FALSE(watched.forecast());
}

TEST(TargetJudge, PeaksOfAReplacedTrainerDoNotSuppressTheTrendOfTheNext) {
    Watched watched;
    watched.run(
        61, [](double t) { return job(static_cast<std::uint64_t>((2 + 12 * std::fmod(t, 20) / 20) * kGiB)); }, 1);
    ASSERT_FALSE(watched.forecast()) << "memory fell back from that peak each time";
    watched.run(
        65,
        [](double t) {
            TargetSnapshot target = job(static_cast<std::uint64_t>((0.5 + 0.2 * t) * kGiB));
            target.processes[2].task.id = {99, 99};
            return target;
        },
        1);
    ASSERT_TRUE(watched.judge.job_ended());
    EXPECT_TRUE(watched.forecast()) << "it is not known yet that the memory of the new trainer falls back";
}

TEST(TargetJudge, ANewTrainerHasNoForecastUntilItLeaks) {
    Watched watched;
    watched.run(3600, [](double t) { return job(2 * kGiB + static_cast<std::uint64_t>(t) * kMiB / 2); });
    ASSERT_TRUE(watched.forecast());
    const auto replaced = [](double t) {
        TargetSnapshot target = job(kGiB / 4 + static_cast<std::uint64_t>(t) * kMiB / 2);
        target.processes[2].task.id = {99, 99};
        return target;
    };
    watched.run(1, replaced, 1);
    EXPECT_FALSE(watched.forecast());
    watched.run(99, [&](double t) { return replaced(1 + t); }, 1);
    EXPECT_FALSE(watched.forecast());
    watched.run(3600, [&](double t) { return replaced(100 + t); });
    EXPECT_TRUE(watched.forecast()) << "the new trainer leaks as well";
}

// Loads 6 GiB within 30 s and leaks 8 GiB an hour, in runs of an hour. `replaced`: each run is another process.
TargetSnapshot crash_loop(double seconds, bool replaced) {
    constexpr double kRun = 3600;
    const double age = std::fmod(seconds, kRun);
    const double gib = 0.3 + 5.7 * std::min(1.0, age / 30) + 8 * age / kRun;
    TargetSnapshot target = job(static_cast<std::uint64_t>(gib * kGiB));
    if (replaced) {
        const auto run = static_cast<pid_t>(seconds / kRun);
        target.processes.back().task.id = {100 + run, static_cast<std::uint64_t>(100 + run)};
    }
    return target;
}

TEST(TargetJudge, AReplacedTrainerIsARestartAndTheExplanationDescribesTheLoop) {
    Watched watched;
    watched.run(3600 * 3.1, [](double t) { return crash_loop(t, true); });
    const ScopeVerdict* whole = watched.latest.verdict();
    EXPECT_EQ(whole->judgement.verdict, Verdict::leaking)
        << "six minutes of a run prove nothing, but the earlier runs do";
    ASSERT_TRUE(whole->judgement.loop);
    EXPECT_EQ(whole->judgement.loop->restarts, 3);
    EXPECT_THAT(whole->explanation,
                HasSubstr("The job was restarted 3 times, and each of the last runs leaked 8.0 GiB/h"));
}

// Grows for 15 min and then stays at its limit for 15 min, until it is replaced.
TargetSnapshot run_that_ends_at_its_limit(double seconds, bool oom_killed) {
    constexpr double kRun = 1800;
    const double age = std::fmod(seconds, kRun);
    const double gib = age < 20 ? 0.3 : 2 + 6 * std::min(1.0, age / 900);
    TargetSnapshot target = job(static_cast<std::uint64_t>(gib * kGiB));
    const auto run = static_cast<pid_t>(seconds / kRun);
    target.processes.back().task.id = {100 + run, static_cast<std::uint64_t>(100 + run)};
    if (oom_killed && run > 0 && age == 0) {
        Death death;
        death.id = {99 + run, static_cast<std::uint64_t>(99 + run)};
        death.cause = DeathCause::oom_kill;
        target.deaths.push_back(death);
    }
    return target;
}

TEST(TargetJudge, ARunThatTheOomKillerEndedReachedNoPlateau) {
    for (const bool oom_killed : {false, true}) {
        Watched watched;
        watched.run(1800 * 3.1, [&](double t) { return run_that_ends_at_its_limit(t, oom_killed); });
        const auto& loop = watched.latest.verdict()->judgement.loop;
        ASSERT_TRUE(loop);
        EXPECT_EQ(loop->restarts, 3);
        EXPECT_EQ(loop->all_settled, !oom_killed);
        EXPECT_EQ(watched.latest.verdict()->explanation.find("reached a plateau") == std::string::npos, oom_killed);
    }
}

TEST(TargetJudge, AFallOfTheSameTrainerIsNoRestart) {
    Watched watched;
    watched.run(3600 * 3.1, [](double t) { return crash_loop(t, false); });
    EXPECT_FALSE(watched.latest.verdict()->judgement.loop);
}

TEST(TargetJudge, ForecastsALimitThatOtherJobsFillAfterTheJobEnded) {
    Watched watched;
    const auto on_host = [](TargetSnapshot target, double t) {
        add_limit(target, "host", 64 * kGiB, 8 * kGiB + static_cast<std::uint64_t>(t) * 4 * kMiB);
        return target;
    };
    watched.run(3600, [&](double t) { return on_host(job(2 * kGiB), t); });
    ASSERT_TRUE(watched.forecast());
    watched.run(5, [&](double t) { return on_host({}, 3600 + t); });
    ASSERT_TRUE(watched.forecast());
    EXPECT_EQ(watched.forecast()->limit->owner, "host");
}

TEST(TargetJudge, ForecastsNoLimitThatOnlyTheEndedJobFilled) {
    Watched watched;
    const auto on_host = [](TargetSnapshot target) {
        target.memory.candidates.clear();
        add_limit(target, "host", 16 * kGiB, 8 * kGiB);
        return target;
    };
    watched.run(3600, [&](double t) { return on_host(job(2 * kGiB + static_cast<std::uint64_t>(t) * kMiB / 2)); });
    ASSERT_TRUE(watched.forecast());
    EXPECT_GT(watched.forecast()->own_share, 0.9);
    watched.run(5, [&](double) { return on_host({}); });
    EXPECT_FALSE(watched.forecast());
}

TEST(TargetJudge, WithoutGrowthTheNearestLimitIsTheEffectiveOne) {
    Watched watched;
    watched.run(1800, [](double) {
        TargetSnapshot target = job(2 * kGiB);
        add_limit(target, "above", 3 * kGiB, 0);
        return target;
    });
    EXPECT_EQ(watched.latest.memory.effective->owner, "above");
    EXPECT_FALSE(watched.latest.verdict()->forecast);
}

}  // namespace target_judge_forecast_test
}  // namespace memscope
