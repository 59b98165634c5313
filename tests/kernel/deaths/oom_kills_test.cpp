// Real OOM kills: the victim, the process that asked for memory, and the owner of the limit.
#include "kernel/deaths/deaths.h"

namespace memscope {
namespace oom_kills_test {

// Memory that a forked child shares with the test from the start.
std::size_t own_anon() { return status_number(::getpid(), "RssAnon") * 1024; }

void expect_oom_kill(const Death& death, pid_t victim, std::size_t limit) {
    EXPECT_EQ(name_of(death.cause), "oom_kill") << death.explanation;
    EXPECT_EQ(name_of(death.sender), "kernel");
    EXPECT_EQ(death.id.pid, victim);
    EXPECT_EQ(death.signal, SIGKILL);
    ASSERT_TRUE(death.oom);
    EXPECT_EQ(name_of(death.oom->constraint), "cgroup");
    EXPECT_EQ(death.oom->limit, Bytes{limit});
    EXPECT_GT(death.oom->usage->n, limit / 10 * 9);
    EXPECT_TRUE(death.news);
}

// A process that grows until it is killed is the victim and the process that asked for memory.
Death expect_kill_at_own_limit(Watched& watched, const RealCgroup& job) {
    job.limit(64 * kMiB);
    Child child(job, [](const Child::Script&) { grow_for_ever(); });
    wait_for(child);
    const Death death = only_death(watched, job);
    expect_oom_kill(death, child.pid(), 64 * kMiB);
    EXPECT_EQ(death.oom->limit_owner, "own");
    EXPECT_EQ(death.oom->trigger->pid, child.pid());
    EXPECT_GT(death.rss_anon->n, 50 * kMiB);
    return death;
}

TEST(OomKills, AtItsOwnLimitNameTheVictimTheLimitAndWhatItHeld) {
    const RealCgroup job("shared-oom");
    Watched watched = Watched::shared();
    const Death death = expect_kill_at_own_limit(watched, job);
    EXPECT_LE(death.rss_anon->n, 64 * kMiB + own_anon()) << "inherited memory is charged to the cgroup of the parent";
    const DeathTally& tally = watched.find(job)->death_tally;
    EXPECT_EQ(tally.of(DeathCause::oom_kill), 1U);
    EXPECT_EQ(tally.of(OomConstraint::cgroup), 1U);
    EXPECT_EQ(tally.of(DeathCause::sigkill), 0U);
}

// The victim is not the process that asked for memory.
struct Triggered {
    Death death{};
    pid_t big = 0, small = 0;
};
std::optional<Triggered> trigger_oom_kill(const RealCgroup& job) {
    Watched watched = Watched::shared();
    Child big(job, [](const Child::Script& script) {
        touch(34 * kMiB);
        sleeper(script);
    });
    big.heard();
    Child small(job, [](const Child::Script& script) {
        touch(20 * kMiB);
        sleeper(script);
    });
    wait_for(big);
    // Linux 7.2 frees the memory of the victim so late that the other process may be killed as well.
    const auto deaths = deaths_of(watched, job, 1);
    if (deaths.empty()) return std::nullopt;
    return Triggered{deaths.front(), big.pid(), small.pid()};
}

TEST(OomKills, NeverNameTheAllocatingProcessAsTheVictim) {
    const RealCgroup job("shared-triggered");
    job.limit(48 * kMiB);
    const auto triggered = trigger_oom_kill(job);
    ASSERT_TRUE(triggered);
    const auto& [death, big, small] = *triggered;
    expect_oom_kill(death, big, 48 * kMiB);
    ASSERT_TRUE(death.oom->trigger);
    EXPECT_EQ(death.oom->trigger->pid, small);
    EXPECT_NEAR(static_cast<double>(death.rss_anon->n), static_cast<double>(34 * kMiB + own_anon()), 4.0 * kMiB);
}

TEST(OomKills, OfAChildCgroupsLimitAreTheTargetsAndNameTheChild) {
    const RealCgroup job("shared-outer");
    const RealCgroup inner(job, "inner");
    inner.limit(48 * kMiB);
    Watched watched = Watched::shared();
    Child child(inner, [](const Child::Script&) { grow_for_ever(); });
    wait_for(child);
    const Death death = only_death(watched, job);
    expect_oom_kill(death, child.pid(), 48 * kMiB);
    EXPECT_EQ(death.oom->limit_owner, inner.name());
    EXPECT_EQ(death.oom->victim_cgroup, inner.name());
}

TEST(OomKills, OfAnAncestorsLimitNameTheAncestor) {
    const RealCgroup outer("above");
    const RealCgroup job(outer, "job");
    const RealCgroup beside(outer, "beside");
    outer.limit(96 * kMiB);
    Watched watched({job.name()});
    watched.tick();
    Child big(job, [](const Child::Script& script) {
        touch(70 * kMiB);
        sleeper(script);
    });
    big.heard();
    Child stranger(beside, [](const Child::Script& script) {
        touch(40 * kMiB);
        sleeper(script);
    });
    stranger.heard();
    const Death death = only_death(watched, job);
    expect_oom_kill(death, big.pid(), 96 * kMiB);
    EXPECT_EQ(death.oom->limit_owner, outer.name());
    EXPECT_EQ(death.oom->trigger->pid, stranger.pid()) << "the process that asked for memory is not watched";
}

// With memory.oom.group the whole cgroup dies with the victim. Only cgroup v2 has that.
TEST(OomKills, OfAWholeCgroupAreADeathEach) {
    const bool whole = RealCgroup::v2();
    const RealCgroup job("shared-group");
    job.limit(64 * kMiB);
    if (whole) job.write("memory.oom.group", "1");
    Watched watched = Watched::shared();
    Child calm(job, sleeper);
    calm.heard();
    Child greedy(job, [](const Child::Script&) { grow_for_ever(); });
    wait_for(greedy);
    if (whole) wait_for(calm);
    const auto deaths = deaths_of(watched, job, whole ? 2 : 1);
    ASSERT_EQ(deaths.size(), whole ? 2U : 1U);
    for (const Death& death : deaths) {
        EXPECT_EQ(name_of(death.cause), "oom_kill");
        EXPECT_EQ(death.oom->whole_cgroup, whole);
        EXPECT_EQ(death.oom->trigger->pid, greedy.pid());
    }
}

// The kernel first kills and then marks, both in the process that asked for memory. If this process has to wait in
// between, the victim exits before it is marked, as if there were no mark.
TEST(OomKills, AreExplainedWithoutTheMarkVictimTracepoint) {
    const RealCgroup job("late-mark");
    KernelFacts facts = gather_kernel_facts({});
    facts.tracepoints.erase("mark_victim");
    Watched watched = Watched::on(facts, {.cgroups = {job.name()}});
    watched.tick();
    expect_kill_at_own_limit(watched, job);
}

// Without the mark and the signal, the cause comes from the kernel log. It is readable here, because kernel tests run
// as root.
TEST(OomKills, AreKnownFromTheKernelLogWithoutAHook) {
    const RealCgroup job("log-only");
    job.limit(64 * kMiB);
    KernelFacts facts = gather_kernel_facts({});
    facts.tracepoints.erase("mark_victim");
    facts.tracepoints.erase("signal_generate");
    Watched watched = Watched::on(facts, {.cgroups = {job.name()}});
    watched.tick();
    EXPECT_FALSE(watched.has_probe("deaths_signal"));
    Child child(job, [](const Child::Script&) { grow_for_ever(); });
    wait_for(child);
    const Death death = only_death(watched, job);
    EXPECT_EQ(name_of(death.cause), "oom_kill");
    EXPECT_EQ(name_of(death.oom->constraint), "cgroup");
    EXPECT_EQ(death.oom->limit_owner, "own");
    EXPECT_FALSE(death.oom->limit);
}

// The watcher cannot open the kernel log.
TEST(OomKills, AreExplainedWithoutTheKernelLog) {
    const RealCgroup job("no-log");
    job.limit(64 * kMiB);
    auto collector = Collector::start({.dev = "/nonexistent"}, {.cgroups = {job.name()}});
    ASSERT_TRUE(collector) << collector.error().message();
    ASSERT_TRUE(collector->tick());
    Child child(job, [](const Child::Script&) { grow_for_ever(); });
    wait_for(child);
    const auto snapshot = collector->tick();
    ASSERT_TRUE(snapshot);
    ASSERT_EQ(snapshot->targets[0].deaths.size(), 1U);
    expect_oom_kill(snapshot->targets[0].deaths[0], child.pid(), 64 * kMiB);
    EXPECT_EQ(snapshot->targets[0].deaths[0].oom->limit_owner, "own");
}

}  // namespace oom_kills_test
}  // namespace memscope
