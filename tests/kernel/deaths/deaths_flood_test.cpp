// Many deaths at once, and deaths while the ring buffer of forks and exits is full: none is missed.
#include "kernel/deaths/deaths.h"

namespace memscope {
namespace deaths_flood_test {

TEST(DeathsInAStorm, OfAWholeTreeAtOnceAreAllThere) {
    constexpr int kWorkers = 200;
    const RealCgroup job("at-once");
    Watched watched({job.name()});
    watched.tick();
    Child root(job, [](const Child::Script& script) {
        ::setpgid(0, 0);
        for (int i = 0; i < kWorkers; ++i) fork_off([] { ::pause(); });
        sleeper(script);
    });
    root.heard();
    watched.tick();
    ASSERT_EQ(::kill(-root.pid(), SIGKILL), 0);
    const auto deaths = deaths_of(watched, job, kWorkers + 1);
    EXPECT_EQ(deaths.size(), kWorkers + 1U);
    for (const Death& death : deaths) {
        EXPECT_EQ(name_of(death.cause), "sigkill");
        EXPECT_EQ(death.sent_by->pid, ::getpid());
    }
    watched.expect_nothing_lost();
}

// A process that runs the function and exits. vfork() is in a separate function, so that no local variable is used
// across it.
template <class Do>
[[gnu::noinline]] void spawn(Do act) {
    const pid_t child = ::vfork();
    if (child == 0) {
        act();
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
}

// The ring buffers are not read meanwhile: forks and exits are lost and counted, deaths are not lost.
TEST(DeathsInAStorm, AreNotMissedWhenTheRingOfForksIsFull) {
    constexpr int kForks = 60'000;  // 56 and 232 bytes each: several times the size of the ring buffer
    const RealCgroup job("flooded");
    Watched watched({job.name()});
    watched.tick();
    Child storm(job, [](const Child::Script& script) {
        for (int i = 0; i < kForks; ++i) spawn([] {});
        sleeper(script);
    });
    storm.heard();
    // Not earlier: the kernel frees stacks of ended processes late, and they count against the limit until then.
    job.limit(256 * kMiB);
    Child greedy(job, [](const Child::Script&) { grow_for_ever(); });
    wait_for(greedy);
    Child crashes(job, [](const Child::Script&) { ::abort(); });
    wait_for(crashes);
    watched.tick();
    EXPECT_GT(watched.latest().self.dropped.at("ring_full"), 0U) << "the ring buffer did not overflow";
    EXPECT_EQ(watched.latest().self.dropped.at("deaths_full"), 0U);
    const TargetSnapshot& target = *watched.find(job);
    ASSERT_EQ(target.deaths.size(), 2U);
    EXPECT_EQ(target.deaths[0].id.pid, greedy.pid());
    EXPECT_EQ(name_of(target.deaths[0].cause), "oom_kill");
    EXPECT_EQ(target.deaths[1].id.pid, crashes.pid());
    EXPECT_EQ(target.deaths[1].signal, SIGABRT);
}

TEST(DeathsInAStorm, BeyondTheRingBufferAreCounted) {
    constexpr int kDeaths = 6'000;  // the ring buffer holds 4,000
    const RealCgroup job("mass");
    Watched watched({job.name()});
    watched.tick();
    Child storm(job, [](const Child::Script& script) {
        for (int i = 0; i < kDeaths; ++i) spawn([] { ::kill(::getpid(), SIGKILL); });
        sleeper(script);
    });
    storm.heard();
    watched.tick();
    EXPECT_EQ(watched.find(job)->deaths.size() + watched.latest().self.dropped.at("deaths_full"),
              static_cast<std::size_t>(kDeaths));
}

}  // namespace deaths_flood_test
}  // namespace memscope
