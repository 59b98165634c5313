#include "watch/targets/numa_limits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace memscope {
namespace numa_limits_test {

using testing::ElementsAre;

constexpr std::uint64_t kSecond = 1'000'000'000;
const HostMemory kHost{.total = Bytes{3000 << 10}, .available = Bytes{2000 << 10}};

struct FakeMachine {
    explicit FakeMachine(std::string_view nodes) {
        tree.write("sys/devices/system/node/has_memory", nodes);
        set_free(0, 900);
        set_free(1, 100);
        set_free(2, 500);
    }
    void set_free(int node, int kib) {
        tree.write(fmt::format("sys/devices/system/node/node{}/meminfo", node),
                   fmt::format("Node {0} MemTotal: 1000 kB\nNode {0} MemFree: {1} kB\n", node, kib));
    }
    void allow(pid_t pid, std::string_view nodes) {
        tree.write(fmt::format("proc/{}/status", pid), fmt::format("Mems_allowed_list:\t{}\n", nodes));
    }
    NumaLimits limits() const {
        const SysRoot root = tree.root();
        return {root, [root](pid_t pid, std::uint64_t, const NodeSet& memory_nodes) {
                    return std::optional(read_process_nodes(root, pid, memory_nodes).value_or(NodeSet{}));
                }};
    }
    FakeTree tree{{"proc/self/", ""}};
};

std::vector<Process> processes(std::initializer_list<pid_t> pids) {
    std::vector<Process> all;
    for (const pid_t pid : pids) all.emplace_back().task.id = {pid, 1};
    return all;
}

// The memory of a job with these processes, after a tick of its own. The host is the limit without NUMA nodes.
MemoryState at(std::uint64_t second, NumaLimits& limits, std::initializer_list<pid_t> pids) {
    MemoryState memory;
    memory.candidates = {{"host", kHost.total, kHost.total - kHost.available}};
    memory.effective = nearest_limit(memory.candidates);
    limits.begin_tick(second * kSecond);
    limits.add(processes(pids), kHost, memory);
    return memory;
}

std::vector<std::string> owners(const MemoryState& memory) {
    std::vector<std::string> names;
    for (const LimitCandidate& candidate : memory.candidates) names.push_back(candidate.owner);
    return names;
}

TEST(NumaLimits, AJobThatIsBoundToFullNodesHasTheirHeadroom) {
    FakeMachine machine("0-2\n");
    machine.allow(7, "1-2");
    NumaLimits limits = machine.limits();
    const MemoryState memory = at(1, limits, {7});
    EXPECT_THAT(owners(memory), ElementsAre("host", "numa nodes 1-2"));
    EXPECT_EQ(memory.effective->owner, "numa nodes 1-2");
    EXPECT_EQ(memory.effective->limit, Bytes{2000 << 10});
    EXPECT_EQ(memory.effective->headroom, Bytes{600 << 10});
    machine.set_free(2, 20);
    EXPECT_EQ(at(2, limits, {7}).effective->headroom, Bytes{120 << 10}) << "read at each tick";
}

TEST(NumaLimits, NothingChangesForAJobThatMayUseAllNodes) {
    FakeMachine machine("0-2\n");
    machine.allow(7, "0-3");
    NumaLimits limits = machine.limits();
    const MemoryState memory = at(1, limits, {7, 8});
    EXPECT_THAT(owners(memory), ElementsAre("host"));
    EXPECT_EQ(memory.effective->owner, "host");
}

TEST(NumaLimits, NothingChangesOnAMachineWithOneNode) {
    FakeMachine machine("0\n");
    machine.allow(7, "0");
    NumaLimits limits = machine.limits();
    EXPECT_THAT(owners(at(1, limits, {7})), ElementsAre("host"));
}

TEST(NumaLimits, RanksThatAreBoundToDifferentNodesHaveALimitEach) {
    FakeMachine machine("0-2\n");
    machine.allow(7, "0");
    machine.allow(8, "1");
    machine.allow(9, "1");
    NumaLimits limits = machine.limits();
    const MemoryState memory = at(1, limits, {7, 8, 9});
    EXPECT_THAT(owners(memory), ElementsAre("host", "numa node 0", "numa node 1"));
    EXPECT_EQ(memory.effective->owner, "numa node 1");
}

TEST(NumaLimits, ABindingThatChangesIsSeenAfterAWhile) {
    FakeMachine machine("0-2\n");
    machine.allow(7, "0");
    NumaLimits limits = machine.limits();
    EXPECT_THAT(owners(at(1, limits, {7})), ElementsAre("host", "numa node 0"));
    machine.allow(7, "0-2");
    EXPECT_THAT(owners(at(2, limits, {7})), ElementsAre("host", "numa node 0"));
    EXPECT_THAT(owners(at(11, limits, {7})), ElementsAre("host"));
}

TEST(NumaLimits, ANodeThatCannotBeReadGivesNoLimit) {
    FakeMachine machine("0-2\n");
    machine.allow(7, "1");
    machine.tree.remove("sys/devices/system/node/node1");
    NumaLimits limits = machine.limits();
    EXPECT_THAT(owners(at(1, limits, {7})), ElementsAre("host"));
}

TEST(NumaLimits, WaitsForTheSameReadingOfABlockedProcess) {
    const FakeMachine machine("0-2\n");
    std::vector<std::uint64_t> numbers;
    std::optional<NodeSet> answer;
    NumaLimits limits(machine.tree.root(), [&](pid_t, std::uint64_t number, const NodeSet&) {
        numbers.push_back(number);
        return answer;
    });
    EXPECT_EQ(at(1, limits, {7}).effective->owner, "host");
    EXPECT_EQ(at(2, limits, {7}).effective->owner, "host");
    answer = NodeSet{1};
    EXPECT_EQ(at(3, limits, {7}).effective->owner, "numa node 1");
    EXPECT_THAT(numbers, ElementsAre(kSecond, kSecond, kSecond)) << "the same reading, until it is done";
}

}  // namespace numa_limits_test
}  // namespace memscope
