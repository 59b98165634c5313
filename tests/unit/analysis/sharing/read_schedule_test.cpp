#include "analysis/sharing/read_schedule.h"

#include <gmock/gmock.h>

namespace memscope {
namespace read_schedule_test {

using Candidate = ReadSchedule::Candidate;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Bytes mib(std::uint64_t n) { return {n << 20}; }
Candidate forked(pid_t pid, Bytes size) { return {{pid, 1}, size, true}; }
Candidate other(pid_t pid, Bytes size) { return {{pid, 1}, size, false}; }

std::vector<pid_t> pids(const std::vector<ReadSchedule::Choice>& chosen) {
    std::vector<pid_t> all;
    for (const auto& [id, whole] : chosen) all.push_back(id.pid);
    return all;
}

// Result of a schedule over a number of ticks of one second. A walk of each process takes a fixed time per MiB.
struct Played {
    Seconds cpu{};
    Seconds longest_walk{};
    std::map<pid_t, std::vector<Seconds>> read_at{};
    std::map<pid_t, std::vector<Seconds>> held{};
};
Played play(const std::vector<Candidate>& all, Seconds per_mib, int seconds) {
    ReadSchedule schedule;
    Played played;
    for (int second = 0; second < seconds; ++second) {
        const Seconds now{static_cast<double>(second)};
        for (const auto& [id, whole] : schedule.choose(now, all)) {
            const auto& process = *std::ranges::find(all, id, &Candidate::id);
            const Seconds walk = per_mib * (static_cast<double>(process.resident.n) / (1 << 20));
            const Seconds cost = whole ? walk : ReadSchedule::kLongestSample;
            if (whole) played.longest_walk = std::max(played.longest_walk, walk);
            played.cpu += cost;
            played.read_at[id.pid].push_back(now);
            played.held[id.pid].push_back(cost);
            schedule.took(now, id, {.cpu = cost, .held = cost});
        }
    }
    return played;
}

TEST(ReadSchedule, ReadsTheLargestForkedWorkerFirstAndThenAllOthers) {
    ReadSchedule schedule;
    const std::vector<Candidate> all = {other(1, mib(200)), forked(2, mib(10)), forked(3, mib(90))};
    EXPECT_THAT(pids(schedule.choose(Seconds{0}, all)), ElementsAre(3, 2, 1));
}

TEST(ReadSchedule, AProcessIsNotChosenAgainDuringItsRead) {
    ReadSchedule schedule;
    const std::vector<Candidate> all = {forked(2, mib(10))};
    EXPECT_THAT(schedule.choose(Seconds{0}, all), testing::SizeIs(1));
    EXPECT_THAT(schedule.choose(Seconds{0.1}, all), IsEmpty());
}

TEST(ReadSchedule, NeverCostsMoreThanAHundredthOfACore) {
    std::vector<Candidate> crowd;
    for (pid_t pid = 1; pid <= 60; ++pid) crowd.push_back(forked(pid, mib(1000)));
    for (const double us_per_mib : {2.0, 25.0, 400.0}) {
        constexpr int kSeconds = 1200;
        const Played played = play(crowd, Seconds{us_per_mib * 1e-6}, kSeconds);
        // Plus one read whose cost could not be estimated.
        EXPECT_LE(played.cpu.count(), kSeconds * 0.01 + 0.5) << us_per_mib;
        EXPECT_GE(played.cpu.count(), kSeconds * 0.005) << us_per_mib;  // the budget is used, too
    }
}

TEST(ReadSchedule, AProcessIsLockedForAtMostFiftyMillisecondsAMinute) {
    for (const double ms : {0.2, 1.0, 10.0, 49.0, 51.0, 400.0}) {
        const Played played = play({forked(1, mib(100))}, Seconds{ms * 1e-5}, 7200);
        const auto& times = played.read_at.at(1);
        ASSERT_GE(times.size(), 2U) << ms;
        for (std::size_t i = 1; i < times.size(); ++i)
            EXPECT_GE(times[i] - times[i - 1], 1200 * played.held.at(1)[i - 1]) << ms;
    }
}

TEST(ReadSchedule, AProcessThatTookTooLongIsSampledFromThenOn) {
    const Played played = play({forked(1, mib(100))}, Seconds{0.1 / 100}, 7200);  // 100 ms each
    const auto& times = played.read_at.at(1);
    ASSERT_GE(times.size(), 4U);
    EXPECT_GE((times[1] - times[0]).count(), 2 * 120);
    EXPECT_LE((times[3] - times[2]).count(), 2 * 24);
}

TEST(ReadSchedule, AHugeProcessIsSampledAndDoesNotStarveTheOthers) {
    const Played played =
        play({forked(1, mib(100'000)), forked(2, mib(100)), other(3, mib(100))}, Seconds{10e-6}, 3600);  // 1 s for it
    EXPECT_LE(played.longest_walk, Seconds{0.001});
    EXPECT_GE(played.read_at.at(1).size(), 100U);
    EXPECT_GE(played.read_at.at(2).size(), 100U);
    EXPECT_GE(played.read_at.at(3).size(), 50U);
}

TEST(ReadSchedule, AvoidsWalksThatWouldExceedTheTimeLimit) {
    for (const double ns_per_page : {2.0, 100.0, 150.0, 350.0}) {
        std::vector<Candidate> all;
        for (pid_t pid = 1; pid <= 12; ++pid) all.push_back(forked(pid, mib(1ULL << pid)));
        const Played played = play(all, Seconds{ns_per_page * 256e-9}, 3600);
        EXPECT_EQ(played.read_at.size(), all.size()) << ns_per_page;
        EXPECT_LE(played.longest_walk, ReadSchedule::kMostHeldPerMinute) << ns_per_page;
    }
}

TEST(ReadSchedule, FastWalksOfHugePagesDoNotAllowLargeWalks) {
    ReadSchedule schedule;
    const Candidate fast = forked(1, mib(400)), slow = forked(2, mib(3000));
    for (double second = 0; second < 600; ++second)
        for (const auto& [id, whole] : schedule.choose(Seconds{second}, {{fast}}))
            schedule.took(Seconds{second}, id, {.cpu = Seconds{1e-4}, .held = Seconds{1e-4}});
    EXPECT_THAT(schedule.choose(Seconds{601}, {{slow}}), ElementsAre(ReadSchedule::Choice{slow.id, false}));
}

TEST(ReadSchedule, ManyWorkersTakeTurns) {
    std::vector<Candidate> crowd;
    for (pid_t pid = 1; pid <= 100; ++pid) crowd.push_back(forked(pid, mib(400)));
    const Played played = play(crowd, Seconds{25e-6}, 1200);  // 10 ms each: one a second
    ASSERT_EQ(played.read_at.size(), crowd.size());
    for (const auto& [pid, times] : played.read_at) EXPECT_GE(times.size(), 8U) << pid;
}

TEST(ReadSchedule, SmallOnesAreNotReadAtEveryTick) {
    const Played played = play({forked(1, mib(1)), other(2, mib(1))}, Seconds{1e-6}, 100);
    EXPECT_LE(played.read_at.at(1).size(), 51U);
    EXPECT_LE(played.read_at.at(2).size(), 11U);
}

TEST(ReadSchedule, AnEndedProcessIsForgottenAndAnotherWithItsPidIsNew) {
    ReadSchedule schedule;
    const Candidate first{{7, 1}, mib(1), true};
    const Candidate second{{7, 2}, mib(1), true};
    ASSERT_THAT(pids(schedule.choose(Seconds{0}, {{first}})), ElementsAre(7));
    ASSERT_THAT(pids(schedule.choose(Seconds{1}, {{second}})), ElementsAre(7));
    // The process has exited meanwhile.
    schedule.took(Seconds{1}, first.id, {.cpu = Seconds{1e-4}, .held = Seconds{1}});
    EXPECT_THAT(pids(schedule.choose(Seconds{2}, {{first}})), ElementsAre(7));
}

}  // namespace read_schedule_test
}  // namespace memscope
