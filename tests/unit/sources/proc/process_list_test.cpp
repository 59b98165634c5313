#include "sources/proc/process_list.h"

#include <gmock/gmock.h>

#include "support/fake_tree.h"

namespace memscope {
namespace process_list_test {

using testing::ElementsAre;

TEST(ProcessList, CountsOwnMemory) {
    EXPECT_EQ(
        parse_own_memory("Name:\tpython3\nRssAnon:\t  100 kB\nRssFile:\t 7 kB\nRssShmem:\t 20 kB\nVmSwap:\t3 kB\n"),
        (Bytes{123 * 1024}));
    EXPECT_EQ(parse_own_memory("Name:\tkthreadd\nThreads:\t1\n"), std::nullopt) << "a kernel thread";
    EXPECT_EQ(parse_own_memory("RssAnon:\t99999999999999999999 kB\n"), std::nullopt);
    EXPECT_EQ(parse_own_memory("RssAnon:\t1\n"), std::nullopt);
}

constexpr const char* kStat =
    "7 (python3) S 1 7 7 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 1 0 500 1000 25 18446744073709551615 "
    "0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

TEST(ProcessList, ListsProcessesWithTheirCgroupsAndCommandLines) {
    const FakeTree tree{{"proc/7/stat", kStat},
                        {"proc/7/status", "Name:\tpython3\nRssAnon:\t 100 kB\n"},
                        {"proc/7/comm", "python3\n"},
                        {"proc/7/cgroup", "0::/train\n"},
                        {"proc/8/stat", kStat},
                        {"proc/8/status", "Name:\tkworker\n"},
                        {"proc/meminfo", "MemTotal: 1 kB\n"}};
    const auto list = list_processes(
        tree.root(), 2, [](ProcessId id) { return std::vector<std::string>{"python3", "of", std::to_string(id.pid)}; });
    ASSERT_EQ(list.processes.size(), 1U);
    const ListedProcess& process = list.processes.front();
    EXPECT_EQ(process.id.pid, 7);
    EXPECT_EQ(process.parent, 1);
    EXPECT_EQ(process.comm, "python3");
    EXPECT_EQ(process.cgroup, "train");
    EXPECT_EQ(process.memory.n, 100U * 1024);
    EXPECT_THAT(process.argv, ElementsAre("python3", "of", "7"));
    EXPECT_TRUE(list.complete);
    EXPECT_EQ(list.unreadable, 0U);
}

TEST(ProcessList, IsBoundedAndSaysSo) {
    const FakeTree tree{{"proc/7/stat", kStat},
                        {"proc/7/status", "RssAnon:\t 100 kB\n"},
                        {"proc/8/stat", kStat},
                        {"proc/8/status", "RssAnon:\t 100 kB\n"}};
    const auto list = list_processes(tree.root(), 2, [](ProcessId) { return std::vector<std::string>{}; }, 1);
    EXPECT_EQ(list.processes.size(), 1U);
    EXPECT_FALSE(list.complete);
}

}  // namespace process_list_test
}  // namespace memscope
