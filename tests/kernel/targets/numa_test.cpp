// Jobs that are bound to some of the NUMA nodes.
#include "kernel/watched.h"
#include "support/fake_tree.h"

namespace memscope {
namespace numa_test {

// A fake second node with memory, so that every process of this host is bound to node 0.
TEST(NumaNodes, AreALimitOfABoundJob) {
    FakeTree machine{{"sys/devices/system/node/has_memory", "0,1001\n"},
                     {"sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 65536 kB\nNode 0 MemFree: 1024 kB\n"}};
    const RealCgroup job("numa");
    Watched watched = Watched::with({.cgroups = {job.name()}}, {.sys = machine.at("sys")});
    Child child(job, sleeper);
    child.heard();
    ASSERT_TRUE(watched.tick_until(job, [](const TargetSnapshot& target) {
        return std::ranges::count(target.memory.candidates, "numa node 0", &LimitCandidate::owner) > 0;
    }));
    const auto limit = watched.find(job)->memory.effective;
    ASSERT_TRUE(limit);
    EXPECT_EQ(limit->owner, "numa node 0") << "it has the least headroom";
    EXPECT_GE(limit->limit, Bytes{65536 << 10}) << "with the swap of the host";
}

}  // namespace numa_test
}  // namespace memscope
