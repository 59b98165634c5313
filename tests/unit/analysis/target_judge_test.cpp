#include "analysis/target_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/explain_scope.h"
#include "analysis/role_totals.h"

namespace memscope {
namespace {

using testing::HasSubstr;

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

// A job of a launcher, its trainer and some workers, by what the trainer holds.
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
    return target;
}

struct Watched {
    TargetJudge judge{std::chrono::minutes(20)};
    double now = 1000;
    TargetSnapshot latest{};

    template <class Make>
    void run(double seconds, Make make) {
        for (double i = 0; i < seconds; i += 5, now += 5) {
            latest = make(i);
            judge.consider(Seconds(now), kWall + Seconds(now), latest);
        }
    }
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
    EXPECT_FALSE(adds_to(watched.latest, *watched.of(Role::trainer))) << "the target's has named it";
}

// The same job, and the line where the trainer grows, whenever the judge asks.
TargetSnapshot job_that_grows_at(const char* line, double seconds) {
    const auto grown = static_cast<std::uint64_t>(seconds) * kMiB / 2;
    TargetSnapshot target = job(2 * kGiB + grown);
    target.lines = {{{Role::trainer, std::nullopt}, line, static_cast<std::int64_t>(grown)}};
    return target;
}

TEST(TargetJudge, NamesTheLineThatGrowsAgainAndAgain) {
    Watched watched;
    watched.run(3600, [](double t) { return job_that_grows_at("validate (train.py:35)", t); });
    const ScopeVerdict* whole = watched.latest.verdict();
    ASSERT_TRUE(whole->lines);
    EXPECT_EQ(whole->lines->most, "validate (train.py:35)");
    EXPECT_THAT(
        whole->explanation,
        HasSubstr("It grows at the same lines again and again, most of it lately (100 %) at validate (train.py:35)."));
    ASSERT_TRUE(watched.of(Role::trainer)->lines);
    EXPECT_FALSE(watched.of(Role::launcher)->lines);
}

// The first moment at which a leak that begins after half an hour is called one.
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
    ASSERT_GT(other, 0) << "in the end it is a leak all the same";
    EXPECT_LT(same, other);
}

TEST(TargetJudge, ForetellsWhenTheLimitIsReached) {
    Watched watched;
    watched.run(3600, [](double t) { return job(2 * kGiB + static_cast<std::uint64_t>(t) * kMiB / 2); });
    ASSERT_TRUE(watched.latest.verdict()->forecast);
    const double left = static_cast<double>(16 * kGiB - 24 * kMiB - 2 * kGiB) / (0.5 * kMiB) - 3600;
    EXPECT_NEAR(watched.latest.verdict()->forecast->eta.count(), left, 0.05 * left);
    EXPECT_EQ(watched.latest.verdict()->forecast->basis, Forecast::Basis::leak);
    EXPECT_EQ(watched.latest.memory.effective->owner, "own");
}

TEST(TargetJudge, TimesAreOnTheWallClock) {
    Watched watched;
    watched.run(3600, [](double t) { return job(2 * kGiB + static_cast<std::uint64_t>(t) * kMiB / 2); });
    EXPECT_NEAR(watched.latest.verdict()->began.count(), kWall.count() + 1000, 1);
    EXPECT_GT(watched.latest.verdict()->judgement.until, kWall);
}

TEST(TargetJudge, ALimitThatSiblingsFillComesFirst) {
    Watched watched;
    watched.run(3600, [](double t) {
        TargetSnapshot target = job(2 * kGiB);
        const auto others = static_cast<std::uint64_t>(t) * 4 * kMiB;
        target.memory.candidates.push_back(
            {"host", {64 * kGiB}, Bytes{target.memory.unreclaimable.n + 8 * kGiB + others}});
        return target;
    });
    ASSERT_TRUE(watched.latest.memory.effective);
    EXPECT_EQ(watched.latest.memory.effective->owner, "host");
    ASSERT_TRUE(watched.latest.verdict()->forecast);
    EXPECT_EQ(watched.latest.verdict()->judgement.verdict, Verdict::stable);
    EXPECT_THAT(watched.latest.verdict()->explanation, HasSubstr("the host's memory (64 GiB) is reached in"));
}

TEST(TargetJudge, WithoutGrowthTheNearestLimitIsTheEffectiveOne) {
    Watched watched;
    watched.run(1800, [](double) {
        TargetSnapshot target = job(2 * kGiB);
        target.memory.candidates.push_back({"above", {3 * kGiB}, target.memory.unreclaimable});
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
    EXPECT_GT(watched.of(Role::compile_worker)->judgement.samples, 100U);  // as it was
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
