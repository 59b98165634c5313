// A process and its descendants, whoever their parents become.
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/watched.h"

namespace memscope {
namespace {

constexpr std::size_t kMiB = 1 << 20;

// A child that leaves a grandchild behind, which is then nobody's but init's. Its pid.
pid_t leave_orphan() {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(1);
    const pid_t middle = ::fork();
    if (middle == 0) {
        const pid_t orphan = ::fork();
        if (orphan == 0) {
            touch(30 * kMiB);
            ::alarm(60);
            for (;;) ::pause();
        }
        [[maybe_unused]] const auto told = ::write(ends[1], &orphan, sizeof orphan);
        ::_exit(0);
    }
    ::waitpid(middle, nullptr, 0);
    pid_t orphan = 0;
    [[maybe_unused]] const auto heard = ::read(ends[0], &orphan, sizeof orphan);
    return orphan;
}

struct ByPid {
    explicit ByPid(pid_t pid) : watched(Watched::by_pid(pid)) {}
    const TargetSnapshot& tick() {
        watched.tick();
        EXPECT_EQ(watched.latest().targets.size(), 1U);
        const TargetSnapshot& target = watched.latest().targets.front();
        const RoleCounters sum = Watched::counters(target);
        EXPECT_EQ(sum.starts - sum.exits, target.processes.size());
        return target;
    }
    Watched watched;
};

TEST(ByPid, DescendantsStayInWhenTheirParentDies) {
    const RealCgroup job("orphans");
    Child child(job, [](const Child::Script& script) {
        script.say();
        script.wait();
        script.say(std::to_string(leave_orphan()));
        script.wait();
    });
    child.heard();
    ByPid tree(child.pid());
    EXPECT_EQ(tree.tick().processes.size(), 1U);
    child.go();
    const pid_t orphan = std::stoi(child.heard());
    for (int i = 0; i < 100 && status_number(orphan, "RssAnon") < 30 * 1024; ++i) ::usleep(20'000);
    const TargetSnapshot& target = tree.tick();
    const Process* found = Watched::process(target, orphan);
    ASSERT_TRUE(found);
    EXPECT_NE(found->task.parent, child.pid());
    EXPECT_GE(found->task.memory->anon.n, 30 * kMiB);
    EXPECT_EQ(target.info.kind, "pid");
    EXPECT_TRUE(target.info.name.starts_with("pid:"));
    EXPECT_EQ(target.memory.measured_at, job.name());
    EXPECT_FALSE(finite(target.memory.limit));
    child.finish();
    EXPECT_EQ(tree.tick().processes.size(), 1U);  // the root is gone, its descendant is not
    EXPECT_FALSE(tree.watched.collector().finished());
    ::kill(orphan, SIGKILL);
    for (int i = 0; i < 100 && !tree.watched.collector().finished(); ++i) {
        ::usleep(20'000);
        tree.tick();
    }
    EXPECT_TRUE(tree.watched.collector().finished());
    tree.watched.expect_nothing_lost();
}

TEST(ByPid, WhoIsThereAlreadyIsInFromTheFirstTick) {
    const RealCgroup job("present");
    Child child(job, [](const Child::Script& script) {
        for (int i = 0; i < 5; ++i)
            if (::fork() == 0) {
                if (::fork() == 0) {
                }
                ::alarm(60);
                for (;;) ::pause();
            }
        ::usleep(100'000);
        script.say();
        script.wait();
    });
    child.heard();
    ByPid tree(child.pid());
    EXPECT_EQ(tree.tick().processes.size(), 11U);
    EXPECT_EQ(Watched::counters(tree.tick()).starts, 11U);
}

TEST(ByPid, NobodyElseIsIn) {
    const RealCgroup job("others");
    Child other(job, [](const Child::Script& script) {
        script.say();
        script.wait();
    });
    other.heard();
    Child child(job, [](const Child::Script& script) {
        script.say();
        script.wait();
    });
    child.heard();
    ByPid tree(child.pid());
    const TargetSnapshot& target = tree.tick();
    EXPECT_EQ(target.processes.size(), 1U);
    EXPECT_TRUE(target.memory.others);
}

}  // namespace
}  // namespace memscope
