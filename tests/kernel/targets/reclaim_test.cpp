// Time of reclaim stalls, compared with the time that passed.
#include <chrono>
#include <thread>

#include "kernel/followed.h"
#include "kernel/watched.h"
#include "support/thrash.h"

namespace memscope {
namespace reclaim_test {

// Lets the child run until it reports that it is done. Returns the time that it took.
Seconds time_of(const Child& child) {
    const auto began = std::chrono::steady_clock::now();
    child.go();
    child.heard();
    return std::chrono::steady_clock::now() - began;
}

TEST(Reclaim, AtTheLimitIsTimedForTheTargetThatStalled) {
    const RealCgroup job("shared-stalled");
    const RealCgroup beside("shared-beside");
    job.limit(8 * kMiB);
    Child child(job, [](const Child::Script& script) {
        script.wait();
        touch_and_leave(24 * kMiB);
        sleeper(script);
    });
    Child calm(beside, sleeper);
    calm.heard();
    Watched watched = Watched::shared();
    EXPECT_EQ(watched.tick(job).reclaim->total(), Seconds{}) << "0, not unknown, from the first tick on";
    const Seconds wall = time_of(child);
    const ReclaimStalls stalls = watched.tick(job).reclaim.value();
    EXPECT_GT(stalls.stalls, 0U);
    EXPECT_GT(stalls.memcg, Seconds{});
    EXPECT_LT(stalls.total(), wall) << "one thread";
    EXPECT_EQ(watched.find(beside)->reclaim->stalls, 0U);
    EXPECT_EQ(watched.latest().self.dropped.at("stalls_full"), 0U);
}

TEST(Reclaim, OfPageCacheIsTimedForEveryReadingThread) {
    const ColdFile file(128 * kMiB);
    const RealCgroup job("reading");
    job.limit(32 * kMiB);
    Child child(job, [&](const Child::Script& script) {
        script.wait();
        std::thread other([&] { file.read(); });
        file.read();
        other.join();
        sleeper(script);
    });
    Watched watched({job.name()});
    watched.tick();
    const Seconds wall = time_of(child);
    const ReclaimStalls stalls = watched.tick(job).reclaim.value();
    EXPECT_GT(stalls.memcg, Seconds{});
    EXPECT_LT(stalls.total(), 2 * wall);
    EXPECT_EQ(stalls.direct, Seconds{}) << "a cgroup at its limit does not mean that the host is short of memory";
    watched.expect_nothing_lost();
}

TEST(Reclaim, OfANestedTargetCountsForBothAndStaysAfterItsRemoval) {
    const RealCgroup outer("stalled");
    RealCgroup inner(outer, "inner");
    inner.limit(24 * kMiB);
    Watched watched({outer.name(), inner.name()});
    watched.tick();
    Child child(inner, [](const Child::Script& script) {
        script.wait();
        touch_and_leave(72 * kMiB);
        sleeper(script);
    });
    time_of(child);
    const std::uint64_t stalls = watched.tick(inner).reclaim->stalls;
    EXPECT_GT(stalls, 0U);
    EXPECT_EQ(watched.find(outer)->reclaim->stalls, stalls);
    child.kill();
    inner.remove();
    EXPECT_GE(watched.tick(outer).reclaim->stalls, stalls);
}

TEST(Reclaim, IsTimedForATreeThatIsWatchedByPid) {
    const RealCgroup job("tree-stalled");
    job.limit(24 * kMiB);
    Child child(job, [](const Child::Script& script) {
        script.wait();
        touch_and_leave(72 * kMiB);
        sleeper(script);
    });
    Watched watched = Watched::by_pid(child.pid());
    watched.tick();
    time_of(child);
    const Snapshot& snapshot = watched.tick();
    ASSERT_EQ(snapshot.targets.size(), 1U);
    EXPECT_GT(snapshot.targets[0].reclaim->stalls, 0U);
}

// Entries of begun stalls are deleted at random. The measured time must never exceed the real one.
TEST(Reclaim, LeavesOutOnlyStallsWhoseBeginningWasLost) {
    const ColdFile file(128 * kMiB);
    const RealCgroup job("forgotten");
    job.limit(32 * kMiB);
    Followed followed(job);
    struct stat directory{};
    ASSERT_EQ(::stat(job.path().c_str(), &directory), 0);
    const CgroupId id{directory.st_ino};
    ReclaimTimer& reclaim = *followed.session().find<ReclaimTimer>();
    Child child(job, [&](const Child::Script& script) {
        script.say();
        for (;;) file.read();
    });
    child.heard();
    const auto began = std::chrono::steady_clock::now();
    const ReclaimStalls before = reclaim.read(id).value();
    for (int i = 0; i < 2000; ++i) {
        reclaim.forget_begun_before(~std::uint64_t{0});
        std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    const ReclaimStalls during = reclaim.read(id).value();
    EXPECT_LT(during.total() - before.total(), std::chrono::steady_clock::now() - began) << "one thread";
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    EXPECT_GT(reclaim.read(id)->stalls, during.stalls) << "later stalls are counted as before";
    reclaim.unwatch(id);
    EXPECT_FALSE(reclaim.read(id));
}

TEST(Reclaim, IsUnknownOnAKernelWithoutItsHooks) {
    const RealCgroup job("untold");
    KernelFacts facts = gather_kernel_facts({});
    std::erase_if(facts.tracepoints, [](const std::string& name) { return name.starts_with("mm_vmscan"); });
    Watched watched = Watched::on(facts, {.cgroups = {job.name()}});
    EXPECT_FALSE(watched.tick(job).reclaim);
    EXPECT_FALSE(watched.has_probe("reclaim_memcg_begin"));
}

}  // namespace reclaim_test
}  // namespace memscope
