// Starts, exits and moves of processes, and their targets.
#include <csignal>
#include <fstream>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>

#include "kernel/watched.h"
#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace tree_test {

// The calling process forks `count` children one after the other. Each exits at once.
void churn(int count, bool with_exec) {
    for (int i = 0; i < count; ++i) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            if (with_exec) ::execl("/bin/true", "true", nullptr);
            ::_exit(0);
        }
        ::waitpid(pid, nullptr, 0);
    }
}

TEST(Tree, HasEarlierProcessesFromTheFirstTick) {
    const RealCgroup job("before");
    Child one(job, sleeper);
    Child two(job, sleeper);
    one.heard();
    two.heard();
    Watched watched({job.name()});
    const TargetSnapshot& target = watched.tick(job);
    EXPECT_TRUE(Watched::process(target, one.pid()));
    EXPECT_TRUE(Watched::process(target, two.pid()));
    EXPECT_EQ(Watched::counters(target).starts, 2U);
}

TEST(Tree, EveryShortLivedProcessIsCounted) {
    const RealCgroup job("short");
    Child child(job, [](const Child::Script& script) {
        sleeper(script);
        churn(300, true);
        churn(300, false);
        sleeper(script);
    });
    child.heard();
    Watched watched({job.name()});
    watched.tick(job);
    child.go();
    child.heard();
    const TargetSnapshot& target = watched.tick(job);
    EXPECT_EQ(Watched::counters(target).starts, 601U);
    EXPECT_EQ(Watched::counters(target).exits, 600U);
    watched.expect_nothing_lost();
}

TEST(Tree, NoProcessFallsBetweenTheScanAndTheEvents) {
    const RealCgroup job("gap");
    Child child(job, [](const Child::Script& script) {
        script.say();
        for (;;) churn(1, false);
    });
    child.heard();
    for (int i = 0; i < 5; ++i) {
        Watched watched({job.name()});                            // starts during many forks
        for (int tick = 0; tick < 20; ++tick) watched.tick(job);  // each checks that processes = starts - exits
        watched.expect_nothing_lost();
        EXPECT_TRUE(Watched::process(*watched.find(job), child.pid()));
    }
}

TEST(Tree, AThreadThatEndsIsNoExit) {
    const RealCgroup job("threads");
    Child child(job, [](const Child::Script& script) {
        sleeper(script);
        for (int i = 0; i < 50; ++i) std::thread([] {}).join();
        sleeper(script);
    });
    child.heard();
    Watched watched({job.name()});
    watched.tick(job);
    child.go();
    child.heard();
    const RoleCounters counters = Watched::counters(watched.tick(job));
    EXPECT_EQ(counters.starts, 1U);
    EXPECT_EQ(counters.exits, 0U);
}

TEST(Tree, ManyThreadsThatEndAtOnceAreOneExit) {
    const RealCgroup job("shared-group");
    Watched watched = Watched::shared();
    constexpr unsigned kRounds = 12;
    for (unsigned i = 0; i < kRounds; ++i) {
        Child child(job, [](const Child::Script& script) {
            for (int t = 0; t < 8; ++t) std::thread([] { ::pause(); }).detach();
            script.wait();
        });
        child.finish();
    }
    const RoleCounters counters = Watched::counters(watched.tick(job));
    EXPECT_EQ(counters.starts, kRounds);
    EXPECT_EQ(counters.exits, kRounds);
    watched.expect_nothing_lost();
}

TEST(Tree, MovesInAndOutCountAsStartsAndExits) {
    const RealCgroup job("shared-moves");
    const RealCgroup elsewhere("elsewhere");
    Child child(elsewhere, sleeper);
    child.heard();
    Watched watched = Watched::shared();
    EXPECT_TRUE(watched.tick(job).processes.empty());
    job.enter(child.pid());
    EXPECT_EQ(Watched::counters(watched.tick(job)).starts, 1U);
    elsewhere.enter(child.pid());
    EXPECT_EQ(Watched::counters(watched.tick(job)).exits, 1U);
    for (int i = 0; i < 10; ++i) (i % 2 ? elsewhere : job).enter(child.pid());  // all within one tick
    const RoleCounters counters = Watched::counters(watched.tick(job));
    EXPECT_EQ(counters.starts, 6U);
    EXPECT_EQ(counters.exits, 6U);
}

TEST(Tree, ATargetInsideAnotherIsCountedInBoth) {
    const RealCgroup outer("outer");
    const RealCgroup inner(outer, "inner");
    Child child(inner, sleeper);
    child.heard();
    Watched watched({outer.name(), inner.name()});
    EXPECT_TRUE(Watched::process(watched.tick(outer), child.pid()));
    EXPECT_TRUE(Watched::process(*watched.find(inner), child.pid()));
    EXPECT_EQ(child.finish(), 0);
    EXPECT_EQ(Watched::counters(watched.tick(outer)).exits, 1U);
    EXPECT_EQ(Watched::counters(*watched.find(inner)).exits, 1U);
}

TEST(Tree, HasProcessesOfNestedCgroups) {
    const RealCgroup top("deep");
    const RealCgroup middle(top, "a");
    const RealCgroup bottom(middle, "b");
    Child child(bottom, sleeper);
    child.heard();
    Watched watched({top.name()});
    EXPECT_TRUE(Watched::process(watched.tick(top), child.pid()));
}

TEST(Tree, APidThatIsUsedAgainIsAnotherProcess) {
    const RealCgroup job("reuse");
    Watched watched({job.name()});
    pid_t wanted = 0;
    {
        Child child(job, sleeper);
        child.heard();
        wanted = child.pid();
        watched.tick(job);
    }
    Child maker(job, [wanted](const Child::Script& script) {
        pid_t ids[] = {wanted};
        clone_args arguments{};
        arguments.exit_signal = SIGCHLD;
        arguments.set_tid = reinterpret_cast<std::uint64_t>(ids);
        arguments.set_tid_size = 1;
        const auto pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;) ::pause();
        }
        script.say(std::to_string(pid));
        script.wait();
    });
    ASSERT_EQ(maker.heard(), std::to_string(wanted));
    const TargetSnapshot& target = watched.tick(job);
    EXPECT_TRUE(Watched::process(target, wanted));
    EXPECT_EQ(Watched::counters(target).starts, 3U);
    EXPECT_EQ(Watched::counters(target).exits, 1U);
    watched.expect_nothing_lost();
}

TEST(Tree, AFloodThatOverflowsTheRingBufferIsCountedAndCorrected) {
    const RealCgroup job("flood");
    Child child(job, [](const Child::Script& script) {
        sleeper(script);
        churn(18000, false);  // 304 bytes of events each, into a ring buffer of 4 MiB that is not read
        sleeper(script);
    });
    child.heard();
    Watched watched({job.name()});
    watched.tick(job);
    child.go();
    child.heard();
    const TargetSnapshot& flooded = watched.tick(job);
    EXPECT_GT(watched.latest().self.dropped.at("ring_full"), 0U);
    EXPECT_GT(Watched::counters(flooded).starts, 10000U);
    watched.tick(job);
    watched.tick(job);
    EXPECT_EQ(watched.tick(job).processes.size(), 1U);  // no exited process is still in the target
}

TEST(Tree, NamesOfAnyBytesDoNoHarm) {
    const RealCgroup job("names");
    const char name[] = "a\"\n\\\xff{}\x01\x1b[31m";
    Child child(job, [&](const Child::Script& script) {
        ::prctl(PR_SET_NAME, name);
        sleeper(script);
    });
    child.heard();
    Watched watched({job.name()});
    const TargetSnapshot& target = watched.tick(job);
    ASSERT_EQ(target.processes.size(), 1U);
    EXPECT_EQ(target.processes[0].task.comm, std::string(name).substr(0, 15));
    EXPECT_EQ(tick_json(watched.latest(), target).find('\n'), std::string::npos);
}

TEST(Tree, TheWatcherNeverCountsItself) {
    const RealCgroup job("self");
    std::ifstream own("/proc/self/cgroup");
    Child observer(job, [&](const Child::Script& script) {
        Watched watched({job.name()});  // the watcher is inside the cgroup that it watches
        script.say(std::to_string(watched.tick(job).processes.size()));
    });
    EXPECT_EQ(observer.heard(), "0");
}

TEST(Tree, TwoWatchersSeeTheSame) {
    const RealCgroup job("two");
    Watched first({job.name()});
    Watched second({job.name()});
    first.tick(job);
    second.tick(job);
    Child child(job, sleeper);
    child.heard();
    EXPECT_TRUE(Watched::process(first.tick(job), child.pid()));
    EXPECT_TRUE(Watched::process(second.tick(job), child.pid()));
    EXPECT_EQ(Watched::counters(first.tick(job)).starts, 1U);
    EXPECT_EQ(Watched::counters(second.tick(job)).starts, 1U);
}

}  // namespace tree_test
}  // namespace memscope
