// Targets that appear, disappear, fill up and reach their limit.
#include <chrono>
#include <sys/wait.h>
#include <thread>

#include "kernel/watched.h"
#include "support/few_descriptors.h"

namespace memscope {
namespace targets_test {

TEST(Targets, AGlobGainsAndLosesMembersWhileRunning) {
    const RealCgroup top("glob");
    Watched watched({top.name() + "/job_*"});
    EXPECT_TRUE(watched.tick().targets.empty());
    EXPECT_FALSE(watched.collector().finished());
    RealCgroup one(top, "job_1");
    const RealCgroup other(top, "other");
    Child child(one, sleeper);
    child.heard();
    EXPECT_TRUE(Watched::process(watched.tick(one), child.pid()));
    EXPECT_FALSE(watched.find(other));
    child.finish();
    one.remove();
    EXPECT_TRUE(watched.tick().targets.empty());
    EXPECT_FALSE(watched.collector().finished());  // another target may appear
    watched.expect_nothing_lost();
}

TEST(Targets, ACgroupThatIsMadeAgainUnderItsNameIsANewTarget) {
    const RealCgroup top("again");
    Watched watched({top.name() + "/*"});
    for (int i = 0; i < 5; ++i) {
        RealCgroup job(top, "job");
        Child child(job, sleeper);
        child.heard();
        EXPECT_EQ(Watched::counters(watched.tick(job)).starts, 1U) << "counters start at 0 again";
        child.kill();
        job.remove();
    }
    watched.expect_nothing_lost();
}

TEST(Targets, ATargetEndsWhenItsCgroupIsRemovedNotWhenItIsEmpty) {
    RealCgroup job("empty");
    Watched watched({job.name()});
    EXPECT_TRUE(watched.tick(job).processes.empty());
    for (int i = 0; i < 3; ++i) {
        Child child(job, sleeper);
        child.heard();
        EXPECT_EQ(watched.tick(job).processes.size(), 1U);
        child.finish();
        EXPECT_TRUE(watched.tick(job).processes.empty());
        EXPECT_FALSE(watched.collector().finished());
    }
    EXPECT_EQ(Watched::counters(watched.tick(job)).starts, 3U);
    job.remove();
    watched.tick();
    EXPECT_TRUE(watched.collector().finished());
}

TEST(Targets, ANamedCgroupEndsWithItsRemovalEvenIfItIsRecreatedAtOnce) {
    RealCgroup job("once");
    Watched watched({job.name()});
    {
        Child child(job, sleeper);
        child.heard();
        watched.tick(job);
        child.kill();
    }
    job.remove();
    const RealCgroup again("once");
    const Snapshot& last = watched.tick();
    EXPECT_TRUE(watched.collector().finished());
    ASSERT_EQ(last.targets.size(), 1U);
    EXPECT_FALSE(last.targets[0].up);
    EXPECT_EQ(Watched::counters(last.targets[0]).exits, 1U) << "processes that exited since the last tick are counted";
    EXPECT_TRUE(last.targets[0].roles.empty());
}

TEST(Targets, WithWaitACgroupIsWatchedFromItsFirstProcess) {
    const RealCgroup top("wait");
    Watched watched({top.name() + "/late"}, true);
    watched.tick();
    EXPECT_FALSE(watched.collector().finished());
    RealCgroup late(top, "late");
    Child child(late, sleeper);
    child.heard();
    EXPECT_TRUE(Watched::process(watched.tick(late), child.pid()));
    child.kill();
    late.remove();
    watched.tick();
    EXPECT_TRUE(watched.collector().finished());
}

// Memory of the target, and the value of `key` in its memory.stat. The kernel counts per CPU and adds up the counts
// when many have changed, else every 2 s. Until then memory.stat lags by hundreds of pages, and may change between two
// reads.
std::pair<MemoryState, std::uint64_t> at_rest(Watched& watched, const RealCgroup& cgroup, const std::string& key) {
    for (int i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(250));
        const std::uint64_t before = cgroup.stat(key);
        MemoryState memory = watched.tick(cgroup).memory;
        if (i >= 10 && cgroup.stat(key) == before) return {std::move(memory), before};
    }
    throw std::runtime_error(cgroup.name() + " does not come to rest");
}

TEST(Targets, KindsSumToUsageAndAnonMatchesMemoryStat) {
    const RealCgroup job("kinds");
    Child child(job, [](const Child::Script& script) {
        touch(40 * kMiB);
        sleeper(script);
    });
    child.heard();
    Watched watched({job.name()});
    const auto [memory, own_anon] = at_rest(watched, job, RealCgroup::v2() ? "anon" : "total_rss");
    const MemoryByKind& kinds = memory.by_kind;
    EXPECT_NEAR(static_cast<double>((kinds.anon + kinds.shmem + kinds.file + kinds.kernel + kinds.other).n),
                static_cast<double>(memory.usage.n), 64.0 * 4096 * 8);
    EXPECT_EQ(kinds.anon.n, own_anon);
    EXPECT_GE(kinds.anon.n, 40 * kMiB);
    // Up to 31 new pages a CPU are on none of the kernel's lists yet.
    EXPECT_GE(memory.unreclaimable.n, 39 * kMiB);
    EXPECT_LE(memory.unreclaimable, kinds.anon + kinds.shmem + kinds.kernel);
    EXPECT_FALSE(finite(memory.limit));
    EXPECT_EQ(memory.effective->owner, "host");
}

TEST(Targets, TheLimitOfAnAncestorIsTheEffectiveOne) {
    const RealCgroup outer("limits");
    const RealCgroup inner(outer, "inner");
    outer.limit(256 * kMiB);
    Watched watched({inner.name()});
    EXPECT_EQ(watched.tick(inner).memory.effective->owner, outer.name());
    EXPECT_EQ(watched.tick(inner).memory.effective->limit, Bytes{256 * kMiB});
    inner.limit(64 * kMiB);
    EXPECT_EQ(watched.tick(inner).memory.effective->owner, "own");
    EXPECT_EQ(finite(watched.tick(inner).memory.limit), Bytes{64 * kMiB});
}

TEST(Targets, AnOomKillAnywhereBelowTheTargetIsCounted) {
    const RealCgroup job("oom");
    job.limit(64 * kMiB);
    RealCgroup below(job, "below");  // v1 counts the kill in the cgroup of the victim
    Watched watched({job.name()});
    EXPECT_EQ(watched.tick(job).memory.events->oom_kill, 0U);
    Child child(below, [](const Child::Script& script) {
        script.wait();
        touch(200 * kMiB);
    });
    const int status = child.finish();
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    EXPECT_EQ(watched.tick(job).memory.events->oom_kill, 1U);
    below.remove();
    EXPECT_EQ(watched.tick(job).memory.events->oom_kill, 1U);  // a counter never falls
}

TEST(Targets, ReadsTheUsageOfSharedMemory) {
    const RealCgroup job("shm");
    Child child(job, sleeper);
    child.heard();
    Watched watched({job.name()});
    const auto& shm = watched.tick(job).shm;
    ASSERT_TRUE(shm);
    EXPECT_GT(shm->size.n, 0U);
    EXPECT_LE(shm->used.n, shm->size.n);
}

TEST(Targets, CgroupsMayBeRemovedAtAnyMomentOfATick) {
    const RealCgroup top("vanish");
    Watched watched({top.name() + "/**"});
    Child maker(top, [&](const Child::Script& script) {
        script.say();
        for (int i = 0;; ++i) {
            const RealCgroup job(top, "job" + std::to_string(i % 3));
            const RealCgroup inner(job, "inner");
        }
    });
    maker.heard();
    for (int i = 0; i < 300; ++i) watched.tick();
    maker.kill();
    watched.tick();
    watched.tick();
    // A cgroup that is being created or removed may be unreadable for a tick. This is counted, and rare.
    EXPECT_LE(watched.latest().self.dropped.at("target_unreadable"), 10U);
    std::size_t left = 1;  // the glob also matches the top
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top.path())) left += entry.is_directory();
    EXPECT_EQ(watched.latest().targets.size(), left);
    for (const auto& entry : std::filesystem::directory_iterator(top.path()))
        if (entry.is_directory()) {
            for (const auto& inner : std::filesystem::directory_iterator(entry))
                if (inner.is_directory()) ::rmdir(inner.path().c_str());
            ::rmdir(entry.path().c_str());
        }
}

// The kernel sends no event when a descriptor is free again.
TEST(Targets, ACgroupThatFoundNoDescriptorIsWatchedAtTheNextTickThatHasOne) {
    const RealCgroup outer("crowd");
    const RealCgroup a(outer, "a"), b(a, "b"), c(b, "c"), d(c, "d");
    Watched watched({d.name() + "/*"});
    watched.tick();
    const RealCgroup job(d, "job");
    {
        const FewDescriptors few(room_for(4));  // the search below five directories needs more
        watched.tick();
        watched.tick();  // the first tick has taken the event of the new cgroup, so no event is left
        EXPECT_FALSE(watched.find(job));
        EXPECT_EQ(watched.latest().self.unwatched_targets, 1U);
    }
    watched.tick();
    EXPECT_TRUE(watched.find(job));
    EXPECT_EQ(watched.latest().self.unwatched_targets, 0U);
}

}  // namespace targets_test
}  // namespace memscope
