#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "support/fake_tree.h"
#include "watch/targets/process_target.h"

namespace memscope {
namespace process_target_follow_test {

using testing::ElementsAre;
using testing::IsEmpty;

// /proc/PID/stat. PF_EXITING is 0x4.
std::string stat_line(pid_t pid, pid_t parent, int start, bool exiting = false, char state = 'S') {
    return fmt::format("{} (x) {} {} 0 0 0 0 {} 0 0 0 0 1 1 0 0 20 0 1 0 {} 4096 0\n", pid, state, parent,
                       exiting ? 4194308 : 4194304, start);
}

struct FakeProcesses {
    void add(pid_t pid, pid_t parent, int start) { write(pid, stat_line(pid, parent, start)); }
    void begin_exit(pid_t pid, pid_t parent, int start) { write(pid, stat_line(pid, parent, start, true, 'Z')); }
    // The process has one thread.
    void write(pid_t pid, const std::string& stat) {
        tree.write(fmt::format("proc/{}/stat", pid), stat);
        tree.write(fmt::format("proc/{}/task/{}/stat", pid, pid), stat);
    }
    void remove(pid_t pid) { tree.remove(fmt::format("proc/{}", pid)); }

    // Runs `between` for each process after it was found in /proc and before its pid is in the map.
    Status follow(pid_t pid, const std::function<void(pid_t)>& between = [](pid_t) {}) {
        return follow_tree(tree.root(), pid,
                           {.add =
                                [&](pid_t member) {
                                    between(member);
                                    map.insert(member);
                                    return Status(Done{});
                                },
                            .remove = [&](pid_t member) { map.erase(member); }});
    }

    FakeTree tree{{"proc/self/", ""}};
    std::set<pid_t> map{};
};

TEST(FollowTree, TakesAllDescendants) {
    FakeProcesses fake;
    fake.add(10, 1, 100);
    fake.add(11, 10, 110);
    fake.add(12, 11, 120);
    fake.add(20, 1, 90);
    EXPECT_TRUE(fake.follow(10));
    EXPECT_THAT(fake.map, ElementsAre(10, 11, 12));
}

TEST(FollowTree, FindsProcessesThatAreForkedDuringTheSearch) {
    FakeProcesses fake;
    fake.add(10, 1, 100);
    EXPECT_TRUE(fake.follow(10, [&](pid_t member) {
        if (member == 10) fake.add(11, 10, 110);
        if (member == 11) fake.add(12, 11, 120);
    }));
    EXPECT_THAT(fake.map, ElementsAre(10, 11, 12));
}

// Follows process 10 with its child 11, and runs `event` after 11 was found in /proc and before its pid is in the map.
void follow_while(FakeProcesses& fake, const std::function<void()>& event) {
    fake.add(10, 1, 100);
    fake.add(11, 10, 110);
    EXPECT_TRUE(fake.follow(10, [&](pid_t member) {
        if (member == 11) event();
    }));
}

TEST(FollowTree, ADescendantThatDiesBeforeItsPidIsInTheMapIsTakenOutAgain) {
    FakeProcesses fake;
    follow_while(fake, [&] { fake.remove(11); });
    EXPECT_THAT(fake.map, ElementsAre(10));
}

// The exit of the process may have been reported before its pid was in the map, although /proc still lists the process.
TEST(FollowTree, ADescendantThatHasBegunToExitIsTakenOutAgain) {
    FakeProcesses fake;
    follow_while(fake, [&] { fake.begin_exit(11, 10, 110); });
    EXPECT_THAT(fake.map, ElementsAre(10));
}

TEST(FollowTree, AProcessWhoseFirstThreadHasExitedIsFollowed) {
    FakeProcesses fake;
    fake.begin_exit(10, 1, 100);
    fake.tree.write("proc/10/task/15/stat", stat_line(15, 1, 101));
    EXPECT_TRUE(fake.follow(10));
    EXPECT_THAT(fake.map, ElementsAre(10));
}

TEST(FollowTree, IgnoresAnUnrelatedProcessThatReusesThePid) {
    FakeProcesses fake;
    follow_while(fake, [&] { fake.add(11, 1, 500); });
    EXPECT_THAT(fake.map, ElementsAre(10));
}

TEST(FollowTree, ANewDescendantThatGetsThePidOfADeadOneIsFollowed) {
    FakeProcesses fake;
    follow_while(fake, [&] { fake.add(11, 10, 500); });
    EXPECT_THAT(fake.map, ElementsAre(10, 11));
}

TEST(FollowTree, ItIsAnErrorWhenTheProcessHasEnded) {
    FakeProcesses fake;
    fake.add(10, 1, 100);
    const auto followed = fake.follow(10, [&](pid_t) { fake.remove(10); });
    ASSERT_FALSE(followed);
    EXPECT_EQ(followed.error().message(), "the process with the pid 10 has ended");
    EXPECT_THAT(fake.map, IsEmpty());
}

// The kernel gives the pid to another process between two scans of /proc.
TEST(FollowTree, IgnoresChildrenOfAProcessThatReusesThePidOfTheFirst) {
    FakeProcesses fake;
    follow_while(fake, [&] {
        fake.add(10, 1, 500);
        fake.add(12, 10, 510);
        fake.map.erase(10);  // the exit event
    });
    EXPECT_THAT(fake.map, ElementsAre(11));
}

}  // namespace process_target_follow_test
}  // namespace memscope
