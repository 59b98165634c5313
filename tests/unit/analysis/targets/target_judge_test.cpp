#include "analysis/targets/target_judge.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/heap/held_objects.h"
#include "analysis/roles/role_totals.h"
#include "analysis/targets/explain_scope.h"
#include "support/fake_objects.h"

namespace memscope {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;
constexpr Seconds kWall{1.7e9};

Process process(pid_t pid, pid_t parent, Role role, const char* comm, std::uint64_t anon) {
    Process process;
    process.task.id = {pid, static_cast<std::uint64_t>(pid)};
    process.task.parent = parent;
    process.task.comm = comm;
    process.task.memory = AddressSpace{.anon = {anon}};
    process.role = role;
    return process;
}

// A job with a launcher, a trainer with the given memory, and workers.
TargetSnapshot job(std::uint64_t trainer, std::size_t workers = 0) {
    TargetSnapshot target;
    target.processes = {process(10, 1, Role::launcher, "uv", 20 * kMiB),
                        process(11, 10, Role::launcher, "sh", 4 * kMiB),
                        process(12, 11, Role::trainer, "python3", trainer)};
    for (std::size_t i = 0; i < workers; ++i)
        target.processes.push_back(
            process(static_cast<pid_t>(20 + i), 12, Role::compile_worker, "python3", 400 * kMiB));
    target.roles = sum_by_role(target.processes);
    for (const auto& [key, totals] : target.roles) target.memory.unreclaimable += totals.anon;
    target.memory.candidates = {{"own", {16 * kGiB}, target.memory.unreclaimable}};
    target.memory.effective = nearest_limit(target.memory.candidates);
    return target;
}

void add_limit(TargetSnapshot& target, const char* owner, std::uint64_t limit, std::uint64_t by_others) {
    target.memory.candidates.push_back({owner, {limit}, Bytes{target.memory.unreclaimable.n + by_others}});
    target.memory.effective = nearest_limit(target.memory.candidates);
}

struct Watched {
    TargetJudge judge{std::chrono::minutes(20)};
    double now = 1000;
    TargetSnapshot latest{};

    template <class Make>
    void run(double seconds, Make make, double interval = 5) {
        for (double i = 0; i < seconds; i += interval, now += interval) {
            latest = make(i);
            judge.consider(Seconds(now), kWall + Seconds(now), latest);
        }
    }
    const std::optional<Forecast>& forecast() const { return latest.verdict()->forecast; }
    const ScopeVerdict* of(Role role) const {
        for (const ScopeVerdict& verdict : latest.verdicts)
            if (verdict.role && verdict.role->role == role) return &verdict;
        return nullptr;
    }
};

TEST(TargetJudge, NamesTheRoleAndTheProcessThatLeak) {
    Watched watched;
    watched.run(3600, [](double t) { return job(2 * kGiB + static_cast<std::uint64_t>(t) * kMiB / 2); });
    const ScopeVerdict* whole = watched.latest.verdict();
    ASSERT_NE(whole, nullptr);
    EXPECT_EQ(whole->judgement.verdict, Verdict::leaking);
    ASSERT_TRUE(whole->grower);
    EXPECT_EQ(whole->grower->pid, 12);
    EXPECT_EQ(whole->grower->levels, 2);
    EXPECT_EQ(whole->grower->top, "uv");
    EXPECT_THAT(whole->explanation, HasSubstr("pid 12, python3, 2 levels below uv"));
    ASSERT_NE(watched.of(Role::trainer), nullptr);
    EXPECT_EQ(watched.of(Role::trainer)->judgement.verdict, Verdict::leaking);
    EXPECT_EQ(watched.of(Role::launcher)->judgement.verdict, Verdict::stable);
    EXPECT_THAT(watched.of(Role::trainer)->explanation, testing::StartsWith("The trainer: The floor has risen"));
    EXPECT_FALSE(adds_to(watched.latest, *watched.of(Role::trainer))) << "the verdict of the target names it";
}

// The same job with the line where the trainer grows, in every reading of lines.
TargetSnapshot job_that_grows_at(const char* line, double seconds, bool keeps = true) {
    const auto grown = static_cast<std::uint64_t>(seconds) * kMiB / 2;
    TargetSnapshot target = job(2 * kGiB + grown);
    const auto bytes = static_cast<std::int64_t>(grown);
    target.lines = {{{Role::trainer, std::nullopt}, line, bytes, keeps ? bytes : 0}};
    return target;
}

TEST(TargetJudge, NamesTheLineBeforeThereIsAVerdict) {
    Watched watched;
    watched.run(60, [](double t) { return job_that_grows_at("validate (train.py:35)", t); });
    const ScopeVerdict* whole = watched.latest.verdict();
    EXPECT_EQ(whole->judgement.verdict, Verdict::insufficient);
    EXPECT_THAT(whole->explanation,
                HasSubstr("for a verdict yet: wait a few minutes. So far validate (train.py:35) keeps "));
    EXPECT_THAT(whole->explanation, testing::EndsWith(" MiB more than when watching began."));
    EXPECT_FALSE(whole->lines) << "too early for programs";
    watched.run(3600, [](double t) { return job_that_grows_at("validate (train.py:35)", 60 + t); });
    EXPECT_THAT(watched.latest.verdict()->explanation, Not(HasSubstr("So far")));
}

TEST(TargetJudge, ALineThatOnlyTouchedMemoryIsNotNamedBeforeTheVerdictEither) {
    Watched watched;
    watched.run(60, [](double t) { return job_that_grows_at("validate (train.py:35)", t, false); });
    EXPECT_THAT(watched.latest.verdict()->explanation, Not(HasSubstr("train.py")));
}

TEST(TargetJudge, NamesTheLineThatGrowsAgainAndAgain) {
    Watched watched;
    watched.run(3600, [](double t) { return job_that_grows_at("validate (train.py:35)", t); });
    const ScopeVerdict* whole = watched.latest.verdict();
    ASSERT_TRUE(whole->lines);
    EXPECT_EQ(whole->lines->most, "validate (train.py:35)");
    EXPECT_THAT(
        whole->explanation,
        HasSubstr("It grows at the same lines again and again: validate (train.py:35) keeps most of it (100 %)."));
    ASSERT_TRUE(watched.of(Role::trainer)->lines);
    EXPECT_FALSE(watched.of(Role::launcher)->lines);
}

TEST(TargetJudge, DoesNotNameTheLineThatTouchedMemoryFirst) {
    Watched watched;
    watched.run(3600, [](double t) { return job_that_grows_at("backward (train.py:50)", t, false); });
    const std::string& text = watched.latest.verdict()->explanation;
    EXPECT_THAT(text, HasSubstr("It grows at the same lines again and again: which line keeps it is not known"));
    EXPECT_THAT(text, testing::Not(HasSubstr("backward")));
}

// The same job with two censuses of the objects of a process, ten minutes apart.
TargetSnapshot job_with_holders(double seconds, pid_t pid) {
    TargetSnapshot target = job_that_grows_at("backward (train.py:50)", seconds, false);
    const double wall = kWall.count() + 1000 + seconds;
    ProcessHeap heap{.role = {Role::trainer, {}}};
    const HeapCensus before = test::with_objects(wall - 660, Bytes{2 * kGiB}, test::outputs_of(10, kMiB));
    heap.census = test::with_objects(wall - 60, Bytes{2 * kGiB + 300 * kMiB}, test::outputs_of(286, kMiB));
    heap.census.process = {pid, static_cast<std::uint64_t>(pid)};
    heap.held = held_objects(heap.census, &before);
    target.heap = {heap};
    return target;
}

TEST(TargetJudge, NamesTheContainerThatHasGrown) {
    Watched watched;
    watched.run(3600, [](double t) { return job_with_holders(t, 12); });
    const ScopeVerdict& whole = *watched.latest.verdict();
    EXPECT_EQ(
        whole.holders,
        "`__main__.trainer.val_outputs` (list) has grown by 276 tuples and 276 MiB in 10 min; 92 % of the growth.");
    EXPECT_THAT(whole.explanation, HasSubstr(whole.holders));
    EXPECT_THAT(whole.explanation, Not(HasSubstr("is not known"))) << "the container answers";
    EXPECT_THAT(watched.of(Role::trainer)->explanation, HasSubstr("val_outputs"));
    EXPECT_EQ(watched.of(Role::launcher)->holders, "");
}

TEST(TargetJudge, ContainersOfAnotherProcessExplainNothing) {
    Watched watched;
    watched.run(3600, [](double t) { return job_with_holders(t, 99); });
    EXPECT_EQ(watched.latest.verdict()->holders, "");
}

// The time at which a leak that begins after half an hour gets the verdict leaking.
double called_after(std::string (*line_at)(double seconds)) {
    Watched watched;
    double called = 0;
    std::map<std::string, std::int64_t> lines;
    watched.run(7200, [&](double t) {
        if (called == 0 && watched.latest.verdict() && watched.latest.verdict()->judgement.verdict == Verdict::leaking)
            called = t;
        TargetSnapshot target = job(2 * kGiB + static_cast<std::uint64_t>(t < 1800 ? 0 : t - 1800) * kMiB / 16);
        if (t >= 1800) lines[line_at(t)] += 5 * kMiB / 16;
        if (watched.judge.wants_lines(Seconds(watched.now))) {
            target.lines.emplace();
            for (const auto& [line, bytes] : lines)
                target.lines->push_back({{Role::trainer, std::nullopt}, line, bytes});
        }
        return target;
    });
    return called;
}

TEST(TargetJudge, IsSoonerWhereTheSameLineGrowsAndLaterWhereEachTimeItIsAnother) {
    const double same = called_after([](double) { return std::string("validate"); });
    const double other = called_after([](double t) { return "part " + std::to_string(static_cast<int>(t) / 60); });
    ASSERT_GT(same, 0);
    ASSERT_GT(other, 0) << "it gets the verdict in the end";
    EXPECT_LT(same, other);
}

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

TEST(TargetJudge, TheEarlierOfTwoForecastsIsTold) {
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

TEST(TargetJudge, BelowFourFifthsARiseOfAMinuteSaysNothing) {
    Watched watched;
    watched.run(60, [&](double t) { return job(static_cast<std::uint64_t>((20 + 0.95 * t) / 100 * 16 * kGiB)); }, 1);
    EXPECT_FALSE(watched.forecast());
}

// Validations that take the job from 70 to 93 % in 20 s, every five minutes.
TEST(TargetJudge, ASpikeThatIsKnownAndFitsIsNoTrend) {
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

TEST(TargetJudge, WhenTheJobIsGoneNothingIsForeseenForIt) {
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
TEST(TargetJudge, WhenTheJobIsGoneItsTrendIsOverThoughItsMemoryIsStillThere) {
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

TEST(TargetJudge, TopsOfATrainerThatWasReplacedDoNotSilenceTheTrendOfTheNext) {
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

TEST(TargetJudge, WhenTheTrainerIsReplacedWhatWasForeseenOfTheOldOneIsOver) {
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

TEST(TargetJudge, ATrainerThatWasReplacedIsARestartAndTheLoopIsTold) {
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

TEST(TargetJudge, AFallOfTheSameTrainerIsNoRestart) {
    Watched watched;
    watched.run(3600 * 3.1, [](double t) { return crash_loop(t, false); });
    EXPECT_FALSE(watched.latest.verdict()->judgement.loop);
}

TEST(TargetJudge, WhatOthersFillIsStillForeseenWhenTheJobIsGone) {
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

TEST(TargetJudge, WhatTheJobFilledIsNotForeseenAnyMoreWhenItIsGone) {
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

TEST(TargetJudge, ABigFlatRoleIsConstantOverhead) {
    Watched watched;
    watched.run(3600, [](double) { return job(2 * kGiB, 20); });
    ASSERT_NE(watched.of(Role::compile_worker), nullptr);
    EXPECT_EQ(watched.of(Role::compile_worker)->explanation,
              "20 compile workers hold 7.8 GiB, flat: constant overhead, no leak.");
}

TEST(TargetJudge, ARoleThatIsAwayHasNoVerdictUntilItIsBack) {
    Watched watched;
    watched.run(600, [](double) { return job(2 * kGiB, 4); });
    EXPECT_NE(watched.of(Role::compile_worker), nullptr);
    watched.run(60, [](double) { return job(2 * kGiB); });
    EXPECT_EQ(watched.of(Role::compile_worker), nullptr);
    watched.run(5, [](double) { return job(2 * kGiB, 4); });
    ASSERT_NE(watched.of(Role::compile_worker), nullptr);
    EXPECT_GT(watched.of(Role::compile_worker)->judgement.samples, 100U);  // unchanged
}

// A trainer and eight workers that share all memory that the trainer had at the fork, and hold `added` of their own.
TargetSnapshot job_with_workers(std::uint64_t trainer, std::uint64_t added, std::uint64_t unshared = 0) {
    TargetSnapshot target;
    target.processes = {process(12, 1, Role::trainer, "python3", trainer)};
    for (pid_t pid = 20; pid < 28; ++pid) {
        Process worker = process(pid, 12, Role::dataloader_worker, "pt_data_worker", trainer + added);
        worker.inherited = Bytes{trainer - unshared};
        target.processes.push_back(worker);
    }
    target.roles = sum_by_role(target.processes);
    const RoleKey workers{Role::dataloader_worker, std::nullopt};
    target.memory.by_kind.anon = {trainer + 8 * (added + unshared)};
    target.memory.unreclaimable = target.memory.by_kind.anon;
    target.memory.candidates = {{"own", {64 * kGiB}, target.memory.unreclaimable}};
    target.sharing.unshared[workers] = {.bytes = {8 * unshared}, .confirmed = true, .processes = 8};
    target.sharing.copiers =
        Copiers{.role = Role::dataloader_worker, .parent = Role::trainer, .processes = 8, .confirmed = true};
    return target;
}

TEST(TargetJudge, WorkersAreNotAccusedOfWhatTheirTrainerLeaks) {
    Watched watched;
    watched.run(3600, [](double t) {  // forked again every five minutes, with all memory of the trainer at that time
        const auto trainer = 2 * kGiB + static_cast<std::uint64_t>(t) * kMiB;
        const auto at_fork = 2 * kGiB + static_cast<std::uint64_t>(t) / 300 * 300 * kMiB;
        TargetSnapshot target = job_with_workers(at_fork, 50 * kMiB);
        target.processes[0].task.memory->anon = {trainer};
        target.roles = sum_by_role(target.processes);
        target.memory.unreclaimable = {trainer + 400 * kMiB};
        return target;
    });
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::leaking);
    EXPECT_EQ(watched.latest.verdict()->grower->role.role, Role::trainer);
    EXPECT_EQ(watched.of(Role::trainer)->judgement.verdict, Verdict::leaking);
    EXPECT_EQ(watched.of(Role::dataloader_worker)->judgement.verdict, Verdict::stable);
    EXPECT_EQ(watched.of(Role::dataloader_worker)->judgement.floor.n, 400 * kMiB);
}

TEST(TargetJudge, ARoleIsNotJudgedWhileItsOwnMemoryIsGuessed) {
    Watched watched;
    watched.run(60, [](double t) {
        TargetSnapshot target = job_with_workers(2 * kGiB, 50 * kMiB);
        target.processes[3].own_known = t >= 30;
        target.roles = sum_by_role(target.processes);
        target.memory.measured_at = "user.slice";
        return target;
    });
    EXPECT_GT(watched.of(Role::trainer)->judgement.samples, 6U);
    EXPECT_LE(watched.of(Role::dataloader_worker)->judgement.samples, 6U);
    EXPECT_GT(watched.of(Role::dataloader_worker)->judgement.samples, 0U);
    EXPECT_LE(watched.latest.verdict()->judgement.samples, 6U) << "with --pid the whole target is not judged either";
}

TEST(TargetJudge, SaysThatUnSharingIsWhyItLeaksAndNothingElse) {
    Watched watched;
    watched.run(3600, [](double t) {
        return job_with_workers(2 * kGiB, 50 * kMiB, static_cast<std::uint64_t>(t) * kMiB / 10);
    });
    const ScopeVerdict& whole = *watched.latest.verdict();
    EXPECT_EQ(whole.judgement.verdict, Verdict::leaking);
    ASSERT_TRUE(whole.cause);
    EXPECT_EQ(whole.cause->kind, GrowthCause::Kind::unsharing);
    EXPECT_GT(whole.cause->share, 0.9);
    EXPECT_THAT(
        whole.explanation,
        HasSubstr("are copies that 8 dataloader workers made of the trainer's pages (copy-on-write un-sharing); "
                  "keep the dataset in arrays, not in lists of objects."));
    EXPECT_THAT(whole.explanation, Not(HasSubstr("look at what is kept")));
    EXPECT_TRUE(says_unsharing(watched.latest));
    const ScopeVerdict* workers = watched.of(Role::dataloader_worker);
    EXPECT_EQ(workers->judgement.verdict, Verdict::leaking) << "their copies are their own memory";
    EXPECT_THAT(workers->explanation, HasSubstr("un-sharing"));
    EXPECT_FALSE(adds_to(watched.latest, *workers)) << "it would repeat the verdict of the target";
}

TEST(TargetJudge, SaysSoInAWarmUpToo) {
    Watched watched;
    watched.run(
        900, [](double t) { return job_with_workers(2 * kGiB, 50 * kMiB, static_cast<std::uint64_t>(t) * kMiB / 10); });
    const ScopeVerdict& whole = *watched.latest.verdict();
    EXPECT_EQ(whole.judgement.verdict, Verdict::warming_up);
    EXPECT_THAT(whole.explanation, HasSubstr("is not called a leak yet. "));
    EXPECT_THAT(whole.explanation,
                HasSubstr(" of it are copies that 8 dataloader workers made of the trainer's pages"));
    EXPECT_THAT(whole.explanation, Not(HasSubstr("it grew by"))) << "no worker is named as the cause";
}

TEST(TargetJudge, SharedMemoryPageTablesAndKernelMemoryAreNamedAsTheCause) {
    struct Case {
        GrowthCause::Kind kind;
        const char* words;
    };
    for (const auto& [kind, words] : {Case{GrowthCause::Kind::shared_memory, "of it are shared memory"},
                                      Case{GrowthCause::Kind::page_tables, "of it are page tables"},
                                      Case{GrowthCause::Kind::kernel, "of it are kernel memory"}}) {
        Watched watched;
        watched.run(3600, [kind](double t) {
            TargetSnapshot target = job(2 * kGiB);
            const Bytes grown{static_cast<std::uint64_t>(t) * kMiB / 2};
            target.memory.by_kind.anon = target.memory.unreclaimable;
            target.memory.unreclaimable += grown;
            if (kind == GrowthCause::Kind::shared_memory) target.memory.by_kind.shmem = grown;
            if (kind != GrowthCause::Kind::shared_memory) target.memory.by_kind.kernel = grown;
            if (kind == GrowthCause::Kind::page_tables) target.memory.page_tables = grown;
            return target;
        });
        const ScopeVerdict& whole = *watched.latest.verdict();
        EXPECT_EQ(whole.judgement.verdict, Verdict::leaking);
        ASSERT_TRUE(whole.cause) << words;
        EXPECT_EQ(whole.cause->kind, kind);
        EXPECT_THAT(whole.explanation, HasSubstr(words));
        EXPECT_THAT(whole.explanation, Not(HasSubstr("look at what is kept")));
    }
}

TEST(TargetJudge, DoesNotNameAProcessWhoseGrowthIsARoundingError) {
    Watched watched;
    watched.run(3600, [](double t) {  // 30 processes that grow at the same rate, and one that grows a little faster
        TargetSnapshot target = job(2 * kGiB, 30);
        for (Process& each : target.processes)
            if (each.role == Role::compile_worker)
                each.task.memory->anon += Bytes{static_cast<std::uint64_t>(t) * kMiB / 60};
        target.roles = sum_by_role(target.processes);
        target.memory.unreclaimable = {};
        for (const auto& [key, totals] : target.roles) target.memory.unreclaimable += totals.anon;
        return target;
    });
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::leaking);
    EXPECT_FALSE(watched.latest.verdict()->grower);
    const ScopeVerdict* workers = watched.of(Role::compile_worker);
    EXPECT_FALSE(workers->grower);
    EXPECT_TRUE(adds_to(watched.latest, *workers)) << "the growth of the role is reported";
}

TEST(TargetJudge, AWorkerDoesNotGrowBecauseItsTrainerRewritesPages) {
    Watched watched;
    watched.run(3600, [](double t) {
        const auto rewritten = static_cast<std::uint64_t>(t) * kMiB / 4;
        TargetSnapshot target = job_with_workers(2 * kGiB, 50 * kMiB);
        target.processes.resize(2);  // the trainer and one worker
        target.processes[1].inherited = Bytes{2 * kGiB - rewritten};
        target.processes[1].orphaned = Bytes{rewritten};
        target.roles = sum_by_role(target.processes);
        target.memory.unreclaimable = {2 * kGiB + 50 * kMiB + rewritten};
        return target;
    });
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::leaking);
    EXPECT_FALSE(watched.latest.verdict()->grower);
}

TEST(TargetJudge, LeavesRoomForTheKernelsMark) {
    Watched watched;
    watched.run(7200,
                [](double t) {  // half a minute at 3 GiB every ten minutes; the kernel saw 3.5 GiB between two ticks
                    TargetSnapshot target = job(static_cast<int>(t) % 600 < 30 ? 3 * kGiB : 2 * kGiB);
                    target.memory.peak = Bytes{(t < 1000 ? 3 * kGiB : 7 * kGiB / 2)};
                    return target;
                });
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::spiky);
    EXPECT_THAT(watched.latest.verdict()->explanation, HasSubstr("leave room for 3.5 GiB"));
}

TEST(JudgedMemory, CountsEachPageOfATreeOnce) {
    TargetSnapshot target = job_with_workers(400 * kMiB, 5 * kMiB, 10 * kMiB);
    target.memory.measured_at = "user.slice";
    EXPECT_EQ(judged_memory(target).n, (400 + 8 * 15) * kMiB);
}

TEST(JudgedMemory, IsTheTreesAnonWhereTheTargetIsNoCgroup) {
    TargetSnapshot target = job(2 * kGiB);
    target.memory.unreclaimable = {9 * kGiB};
    target.memory.swap = {kGiB};
    EXPECT_EQ(judged_memory(target).n, 10 * kGiB);
    target.memory.measured_at = "user.slice";
    EXPECT_EQ(judged_memory(target).n, 2 * kGiB + 24 * kMiB);
}

}  // namespace
}  // namespace memscope
