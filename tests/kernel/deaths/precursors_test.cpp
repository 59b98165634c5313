// Real precursors of an OOM kill. Their durations are settings, which are short here.
#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <thread>

#include "kernel/watched.h"
#include "support/thrash.h"

namespace memscope {
namespace precursors_test {

WatchOptions quick(const RealCgroup& cgroup) {
    WatchOptions options{.cgroups = {cgroup.name()}};
    options.precursors.near_limit_for = Seconds{1};
    options.precursors.reclaim_window = Seconds{2};
    options.precursors.refault_for = Seconds{3};
    options.precursors.clear_after = Seconds{1};
    return options;
}

const Precursor* active(const TargetSnapshot& target, PrecursorKind kind) {
    const auto found = std::ranges::find(target.precursors, kind, &Precursor::kind);
    return found == target.precursors.end() ? nullptr : &*found;
}

// Ticks until the precursor is active, or until it is not.
bool comes_to(Watched& watched, const RealCgroup& cgroup, PrecursorKind kind, bool wanted, int ticks = 100) {
    for (int i = 0; i < ticks; ++i) {
        if ((active(watched.tick(cgroup), kind) != nullptr) == wanted) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
}

TEST(PrecursorsForReal, NearLimitIsActiveWhileMostOfTheLimitCannotBeReclaimedAndClears) {
    const RealCgroup job("near");
    const RealCgroup beside("far");
    job.limit(64 * kMiB);
    beside.limit(64 * kMiB);
    Child child(job, [](const Child::Script& script) {
        touch(60 * kMiB);
        script.say();
        script.wait();
    });
    child.heard();
    WatchOptions options = quick(job);
    options.cgroups.push_back(beside.name());
    Watched watched = Watched::on(gather_kernel_facts({}), options);
    EXPECT_FALSE(active(watched.tick(job), PrecursorKind::near_limit)) << "not active for a second yet";
    ASSERT_TRUE(comes_to(watched, job, PrecursorKind::near_limit, true));
    EXPECT_NE(active(*watched.find(job), PrecursorKind::near_limit)->reason.find("of its own limit of 64 MiB"),
              std::string::npos);
    EXPECT_FALSE(active(*watched.find(beside), PrecursorKind::near_limit));
    child.finish();
    EXPECT_TRUE(comes_to(watched, job, PrecursorKind::near_limit, false));
}

// A worker that exits by itself is replaced by the next worker, and the job goes on. Only the death of a worker ends
// the forecast. The death must be known before the target is judged.
TEST(PrecursorsForReal, PrecursorsOfAWorkerEndWhenItIsKilledNotWhenItExits) {
    for (const bool killed : {true, false}) {
        const RealCgroup job("worker");
        job.limit(64 * kMiB);
        Child trainer(job, sleeper);
        trainer.heard();
        Child worker(job, [](const Child::Script& script) {
            ::prctl(PR_SET_NAME, "data_worker");
            touch(60 * kMiB);
            script.say();
            script.wait();
        });
        worker.heard();
        WatchOptions options = quick(job);
        options.role_rules = {{.role = Role::dataloader_worker, .comm = "data_worker"}};
        options.precursors.clear_after = Seconds{3600};
        Watched watched = Watched::on(gather_kernel_facts({}), options);
        ASSERT_TRUE(comes_to(watched, job, PrecursorKind::near_limit, true));
        if (killed)
            worker.kill();
        else
            worker.finish();
        ASSERT_TRUE(watched.tick_until(job, [](const TargetSnapshot& target) {
            return target.processes.size() == 1 && target.memory.usage.n < 30 * kMiB;
        }));
        EXPECT_EQ(active(watched.tick(job), PrecursorKind::near_limit) != nullptr, !killed);
    }
}

TEST(PrecursorsForReal, RefaultIsActiveWhileAFileThatDoesNotFitIsReadOverAndOver) {
    const ColdFile file(128 * kMiB);
    const RealCgroup job("thrash");
    job.limit(32 * kMiB);
    Child child(job, [&](const Child::Script& script) {
        script.say();
        for (;;) file.read();
    });
    child.heard();
    Watched watched = Watched::on(gather_kernel_facts({}), quick(job));
    EXPECT_TRUE(comes_to(watched, job, PrecursorKind::refault, true));
    EXPECT_FALSE(active(*watched.find(job), PrecursorKind::near_limit)) << "page cache can be reclaimed";
    child.kill();
    EXPECT_TRUE(comes_to(watched, job, PrecursorKind::refault, false));
}

// Uses no disk, because its speed would determine the share of reclaim.
TEST(PrecursorsForReal, ReclaimIsActiveWhileMoreMemoryThanFitsIsUsedInTurns) {
    const RealCgroup job("churn");
    job.limit(32 * kMiB);
    Child child(job, [](const Child::Script& script) {
        script.say();
        churn(128 * kMiB);
    });
    child.heard();
    Watched watched = Watched::on(gather_kernel_facts({}), quick(job));
    EXPECT_TRUE(comes_to(watched, job, PrecursorKind::reclaim, true));
    EXPECT_FALSE(active(*watched.find(job), PrecursorKind::near_limit)) << "memory that is no longer used is reclaimed";
    child.kill();
    EXPECT_TRUE(comes_to(watched, job, PrecursorKind::reclaim, false));
}

// Only cgroup v2 has these values. On v1 memscope must not derive them, for instance from the pressure of the host.
TEST(PrecursorsForReal, PressureAndHighThrottledAreActiveWhileAJobIsHeldBack) {
    const RealCgroup job("held-back");
    if (RealCgroup::v2())
        std::ofstream(job.path() / "memory.high") << 24 * kMiB;
    else
        job.limit(24 * kMiB);
    Child child(job, [](const Child::Script& script) {
        script.say();
        churn(96 * kMiB);
    });
    child.heard();
    WatchOptions options = quick(job);
    options.precursors.high_throttled = Seconds{2};
    Watched watched = Watched::on(gather_kernel_facts({}), options);
    const int ticks = RealCgroup::v2() ? 300 : 25;  // emulated machines are slow
    EXPECT_EQ(comes_to(watched, job, PrecursorKind::high_throttled, true, ticks), RealCgroup::v2());
    EXPECT_EQ(comes_to(watched, job, PrecursorKind::pressure, true, ticks), RealCgroup::v2());
}

TEST(PrecursorsForReal, EtaIsActiveBeforeALeakIsKilled) {
    const RealCgroup job("doomed");
    job.limit(384 * kMiB);
    Child child(job, [](const Child::Script& script) {
        script.say();
        for (;;) {  // 20 MiB/s: killed after about 19 s
            touch(kMiB);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    });
    child.heard();
    WatchOptions options = quick(job);
    options.warmup = Seconds{3};
    options.precursors.eta = Seconds{15};
    Watched watched = Watched::on(gather_kernel_facts({}), options);
    ASSERT_TRUE(comes_to(watched, job, PrecursorKind::eta, true));
    const TargetSnapshot& target = *watched.find(job);
    EXPECT_EQ(target.processes.size(), 1U) << "it still lives";
    ASSERT_TRUE(target.verdict()->forecast);
    EXPECT_LT(target.verdict()->forecast->eta, Seconds{15});
    EXPECT_EQ(target.memory.effective->owner, "own");
}

// The job has run for a while before watching began. It is killed before there is a verdict, because a verdict takes
// two minutes.
TEST(PrecursorsForReal, EtaUsesTheTrendOfAJobThatWasFoundLateAndEndsWithItsDeath) {
    constexpr std::size_t kLimit = 256 * kMiB;
    const RealCgroup job("late");
    job.limit(kLimit);
    Child child(job, [](const Child::Script& script) {
        touch(120 * kMiB);
        script.say();
        for (;;) {  // 4 MiB/s: killed after about 34 s
            touch(kMiB);
            std::this_thread::sleep_for(std::chrono::milliseconds(250));
        }
    });
    child.heard();
    Watched watched = Watched::on(gather_kernel_facts({}), {.cgroups = {job.name()}});
    ASSERT_TRUE(comes_to(watched, job, PrecursorKind::eta, true, 1000));
    const TargetSnapshot& alive = *watched.find(job);
    ASSERT_EQ(alive.processes.size(), 1U) << "it still lives";
    ASSERT_TRUE(alive.verdict()->forecast);
    EXPECT_EQ(alive.verdict()->judgement.verdict, Verdict::insufficient);
    EXPECT_EQ(alive.verdict()->forecast->basis, Forecast::Basis::trend);
    EXPECT_EQ(alive.verdict()->forecast->limit->owner, "own");
    EXPECT_EQ(alive.verdict()->forecast->limit->limit.n, kLimit);
    EXPECT_LT(alive.memory.effective->held_share(), 0.95) << "in time to save a checkpoint";
    EXPECT_FALSE(active(alive, PrecursorKind::near_limit));

    bool died = false;
    for (int i = 0; i < 1000 && !died; ++i) {
        died = watched.tick(job).processes.empty();
        if (!died) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ASSERT_TRUE(died);
    EXPECT_TRUE(comes_to(watched, job, PrecursorKind::eta, false, 10))
        << "the hold of one minute is only for living targets";
    EXPECT_FALSE(watched.find(job)->verdict()->forecast);
    EXPECT_TRUE(watched.find(job)->last_death);
}

// The threshold for low host memory is a setting. The test uses a value that every host is below and a value that every
// host is above.
TEST(PrecursorsForReal, HostLowDependsOnTheAvailableMemoryOfTheMachine) {
    const RealCgroup job("anywhere");
    Child child(job, sleeper);
    child.heard();
    for (const bool short_of_memory : {true, false}) {
        WatchOptions options = quick(job);
        options.precursors.host_low = short_of_memory ? 1 : 0;
        options.precursors.host_low_least = {};
        Watched watched = Watched::on(gather_kernel_facts({}), options);
        EXPECT_EQ(active(watched.tick(job), PrecursorKind::host_low) != nullptr, short_of_memory);
    }
}

// A separate /dev/shm that is more than 90 % full.
void fill_own_shm(const Child::Script& script) {
    constexpr std::size_t kSize = 16 * kMiB;
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=16m") == 0;
    const Fd file(::open("/dev/shm/batch", O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    const bool filled = mounted && file && ::posix_fallocate(file.get(), 0, kSize / 16 * 15) == 0;
    script.say(filled ? "ready" : "failed");
    script.wait();
}

TEST(PrecursorsForReal, ShmFullIsActiveForTheSharedMemoryThatTheTreeSees) {
    const RealCgroup job("full");
    const RealCgroup beside("roomy");
    Child child(job, fill_own_shm);
    ASSERT_EQ(child.heard(), "ready");
    Child calm(beside, [](const Child::Script& script) {
        script.say();
        script.wait();
    });
    calm.heard();
    WatchOptions options = quick(job);
    options.cgroups.push_back(beside.name());
    Watched watched = Watched::on(gather_kernel_facts({}), options);
    ASSERT_TRUE(active(watched.tick(job), PrecursorKind::shm_full));
    EXPECT_EQ(active(*watched.find(job), PrecursorKind::shm_full)->reason.find("/dev/shm holds 15 MiB of 16 MiB"), 0U);
    EXPECT_FALSE(active(*watched.find(beside), PrecursorKind::shm_full));
}

}  // namespace precursors_test
}  // namespace memscope
