// A process and its descendants, also after they are re-parented.
#include <csignal>
#include <cstring>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/session.h"
#include "kernel/watched.h"
#include "support/few_descriptors.h"

namespace memscope {
namespace pid_test {

// The pid of a grandchild whose parent has exited, so that init is its parent.
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

TEST(ByPid, KeepsDescendantsWhoseParentHasEnded) {
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
    EXPECT_EQ(tree.tick().processes.size(), 1U);  // the root has exited, its descendant has not
    EXPECT_FALSE(tree.watched.collector().finished());
    ::kill(orphan, SIGKILL);
    for (int i = 0; i < 100 && !tree.watched.collector().finished(); ++i) {
        ::usleep(20'000);
        tree.tick();
    }
    EXPECT_TRUE(tree.watched.collector().finished());
    tree.watched.expect_nothing_lost();
}

TEST(ByPid, HasEarlierDescendantsFromTheFirstTick) {
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

TEST(ByPid, IgnoresProcessesOutsideTheTree) {
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

// Opening the cgroup of a tree needs one file descriptor for each ancestor at the same time.
TEST(ByPid, ATreeWhoseCgroupFindsNoDescriptorIsCountedAndMeasuredLater) {
    const RealCgroup outer("deep");
    const RealCgroup a(outer, "a"), b(a, "b"), c(b, "c"), d(c, "d"), job(d, "e");
    Child child(job, sleeper);
    child.heard();
    Watched watched = Watched::by_pid(child.pid());
    {
        const FewDescriptors few(room_for(4));  // enough for the scan and for single files
        watched.tick();
    }
    EXPECT_TRUE(watched.latest().targets.empty());
    EXPECT_EQ(watched.latest().self.unwatched_targets, 1U);
    EXPECT_EQ(watched.latest().self.dropped.at("target_no_descriptor"), 1U);
    EXPECT_EQ(watched.latest().self.dropped.at("target_unreadable"), 0U);
    EXPECT_FALSE(watched.collector().finished());
    watched.tick();
    ASSERT_EQ(watched.latest().targets.size(), 1U);
    EXPECT_EQ(watched.latest().targets.front().memory.measured_at, job.name());
    EXPECT_EQ(watched.latest().self.unwatched_targets, 0U);
    EXPECT_EQ(watched.latest().self.dropped.at("target_no_descriptor"), 1U) << "a sum";
}

// Forks a process with that pid, which must be free. The child waits to be killed.
pid_t fork_as(pid_t pid) {
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = reinterpret_cast<std::uintptr_t>(&pid);
    arguments.set_tid_size = 1;
    const auto child = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
    if (child == 0)
        for (;;) ::pause();
    return child;
}

void end(pid_t child) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

// The kernel reuses pids of processes that have ended.
TEST(ByPid, IgnoresAnUnrelatedProcessThatReusesAPid) {
    const RealCgroup job("reused");
    Child child(job, [](const Child::Script& script) {
        const pid_t descendant = ::fork();
        if (descendant == 0)
            for (;;) ::pause();
        script.say(std::to_string(descendant));
        script.wait();
        end(descendant);
        script.say();
        script.wait();
    });
    const pid_t pid = std::stoi(child.heard());
    ByPid tree(child.pid());
    ASSERT_TRUE(Watched::process(tree.tick(), pid));
    child.go();
    child.heard();
    const pid_t stranger = fork_as(pid);
    ASSERT_EQ(stranger, pid) << std::strerror(errno);
    const TargetSnapshot& target = tree.tick();
    EXPECT_FALSE(Watched::process(target, pid));
    EXPECT_EQ(target.processes.size(), 1U);
    end(stranger);
}

// What the collector does with a descendant that ended before its pid was in the map: see follow_tree().
TEST(ByPid, TheNextScanLacksAPidThatWasRemovedFromTheMap) {
    const RealCgroup job("unfollowed");
    Child child(job, sleeper);
    child.heard();
    auto session = Session::start(make_plan(gather_kernel_facts({})), {.memory_on_v1 = !RealCgroup::v2(),
                                                                       .follow_descendants = true,
                                                                       .follow_mappings = false,
                                                                       .follow_growth = false});
    ASSERT_TRUE(session) << session.error().message();
    const auto is_scanned = [&] {
        const auto scan = session->scan();
        EXPECT_TRUE(scan);
        return std::ranges::any_of(*scan, [&](const ScannedTask& task) { return task.task.id.pid == child.pid(); });
    };
    EXPECT_FALSE(is_scanned());
    ASSERT_TRUE(session->tree().follow(child.pid(), CgroupId{1}));
    EXPECT_TRUE(is_scanned());
    session->tree().unfollow(child.pid());
    EXPECT_FALSE(is_scanned());
}

}  // namespace pid_test
}  // namespace memscope
