#include "sources/proc/kernel_log.h"

#include <gtest/gtest.h>

namespace memscope {
namespace kernel_log_test {

TEST(KernelLog, HasConstraintLimitOwnerAndVictimsCgroup) {
    const auto kill = parse_oom_line(
        "6,1045,98765,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a,"
        "task_memcg=/a/b,task=python3,pid=4711,uid=1000\n SUBSYSTEM=none\n");
    ASSERT_TRUE(kill);
    EXPECT_EQ(kill->thread, 4711);
    EXPECT_EQ(name_of(kill->constraint), "cgroup");
    EXPECT_EQ(kill->limit_owner, "a");
    EXPECT_EQ(kill->victim_cgroup, "a/b");
}

TEST(KernelLog, KnowsEveryConstraint) {
    const auto constraint = [](const std::string& word) {
        const auto kill = parse_oom_line("6,1,2,-;oom-kill:constraint=" + word +
                                         ",nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=x,pid=1"
                                         ",uid=0\n");
        return kill ? std::string(name_of(kill->constraint)) : "no kill";
    };
    EXPECT_EQ(constraint("CONSTRAINT_NONE"), "host");
    EXPECT_EQ(constraint("CONSTRAINT_CPUSET"), "cpuset");
    EXPECT_EQ(constraint("CONSTRAINT_MEMORY_POLICY"), "mempolicy");
    EXPECT_EQ(constraint("CONSTRAINT_OF_TOMORROW"), "unknown");
}

TEST(KernelLog, TakesNoOtherLine) {
    for (const char* line :
         {"", "6,1,2,-;", "6,1,2,-;Out of memory: Killed process 1 (x)",
          "6,1,2,-;x oom-kill:constraint=CONSTRAINT_NONE,pid=1,uid=0", "oom-kill:constraint=,pid=1",
          "6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE", "6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,pid=,uid=0",
          "6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,pid=99999999999,uid=0",
          "6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,pid=0,uid=0"})
        EXPECT_FALSE(parse_oom_line(line)) << line;
}

// Users choose the names of their processes and cgroups.
TEST(KernelLog, IsNotFooledByNames) {
    const auto by_comm = parse_oom_line(
        "6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/a,task_memcg=/a,task=,pid=1,uid=0,"
        "pid=4711,uid=1000\n");
    ASSERT_TRUE(by_comm);
    EXPECT_EQ(by_comm->thread, 4711);
    const auto by_cgroup = parse_oom_line(
        "6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/a,task_memcg=/b,task_memcg=/a,task=x,"
        "pid=4711,uid=1000\n");
    ASSERT_TRUE(by_cgroup);
    EXPECT_EQ(by_cgroup->limit_owner, "") << "ambiguous: the mark occurs twice";
}

TEST(KernelLog, FailsIfItCannotBeOpened) { EXPECT_FALSE(KernelLog::open({.dev = "/nonexistent"})); }

}  // namespace kernel_log_test
}  // namespace memscope
