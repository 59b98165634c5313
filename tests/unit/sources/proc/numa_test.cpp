#include "sources/proc/numa.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace memscope {
namespace numa_test {

TEST(NodeList, IsReadAsTheKernelWritesIt) {
    EXPECT_EQ(parse_node_list("0\n"), NodeSet{0});
    EXPECT_EQ(parse_node_list(" 0-2,5,7-8 "), (NodeSet{0, 1, 2, 5, 7, 8}));
    EXPECT_EQ(parse_node_list(""), NodeSet{});
    for (const char* wrong : {"a", "3-1", "0-", "1,,2", "0-99999999999", "-1"})
        EXPECT_EQ(parse_node_list(wrong), std::nullopt) << wrong;
    EXPECT_EQ(node_list_text({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
    EXPECT_EQ(node_list_text({3}), "3");
}

TEST(NodeMemory, AvailableIsFreeAndWhatCanBeReclaimed) {
    const auto memory = parse_node_meminfo(
        "Node 1 MemTotal:       1000 kB\nNode 1 MemFree:         100 kB\nNode 1 Active:   900 kB\n"
        "Node 1 Active(anon):   300 kB\nNode 1 Active(file):    50 kB\nNode 1 Inactive(file):  20 kB\n"
        "Node 1 SReclaimable:     7 kB\nNode 1 HugePages_Total:     4\n");
    ASSERT_TRUE(memory) << memory.error().message();
    EXPECT_EQ(memory->total, Bytes{1000 << 10});
    EXPECT_EQ(memory->available, Bytes{177 << 10});
    EXPECT_FALSE(parse_node_meminfo("Node 1 MemTotal: 1 kB\n"));
    EXPECT_FALSE(parse_node_meminfo(""));
}

TEST(NodeMemory, LeavesThePoolsOfHugePagesOut) {
    const FakeTree tree{
        {"sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 10000 kB\nNode 0 MemFree: 1000 kB\n"},
        {"sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "2\n"}};
    EXPECT_EQ(read_node_memory(tree.root(), 0)->total, Bytes{(10000 - 4096) << 10});
    EXPECT_FALSE(read_node_memory(tree.root(), 1));
}

TEST(BoundNodes, AreThoseOfThePolicyOfTheProcess) {
    EXPECT_EQ(parse_bound_nodes("55ef6ece8000 bind:0-1 file=/usr/bin/python3 mapped=2 N0=2\n"), (NodeSet{0, 1}));
    EXPECT_EQ(parse_bound_nodes("55ef6ece8000 bind=static:1 heap\n"), NodeSet{1});
    for (const char* free : {"55ef6ece8000 default file=/bin/sh\n", "55ef6ece8000 prefer:1 anon=1\n",
                             "55ef6ece8000 interleave:0-1 anon=1\n", "55ef6ece8000 local\n", "bind:0\n", ""})
        EXPECT_EQ(parse_bound_nodes(free), std::nullopt) << free;
}

TEST(ProcessNodes, AreTheNodesThatCpusetAndPolicyBothAllow) {
    FakeTree tree{{"proc/7/status", "Name:\tpython3\nMems_allowed:\t0000000f\nMems_allowed_list:\t0-3\n"},
                  {"proc/7/numa_maps", "55ef6ece8000 default file=/usr/bin/python3\n"}};
    const NodeSet all{0, 1, 2};  // node 3 has no memory
    EXPECT_EQ(read_process_nodes(tree.root(), 7, all), all);
    tree.write("proc/7/numa_maps", "55ef6ece8000 bind:1-2 file=/usr/bin/python3\n");
    EXPECT_EQ(read_process_nodes(tree.root(), 7, all), (NodeSet{1, 2}));
    tree.write("proc/7/status", "Mems_allowed_list:\t1\n");
    EXPECT_EQ(read_process_nodes(tree.root(), 7, all), NodeSet{1});
    tree.remove("proc/7/numa_maps");
    EXPECT_EQ(read_process_nodes(tree.root(), 7, all), NodeSet{1}) << "a kernel without CONFIG_NUMA policies";
    EXPECT_EQ(read_process_nodes(tree.root(), 8, all), std::nullopt);
}

TEST(NumaCandidate, HasANameThatAUserUnderstands) {
    const HostMemory host{.swap_total = Bytes{50}, .swap_free = Bytes{20}};
    const LimitCandidate two = numa_candidate({0, 1}, {Bytes{1000}, Bytes{400}}, host, false);
    EXPECT_EQ(two.owner, "numa nodes 0-1");
    EXPECT_EQ(two.limit, Bytes{1000});
    EXPECT_EQ(two.held, Bytes{600});
    const LimitCandidate one = numa_candidate({2}, {Bytes{1000}, Bytes{400}}, host, true);
    EXPECT_EQ(one.owner, "numa node 2");
    EXPECT_EQ(one.limit, Bytes{1050});
    EXPECT_EQ(one.held, Bytes{630});
}

}  // namespace numa_test
}  // namespace memscope
