#include "sources/cgroup/cgroup_memory.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "sources/cgroup/memory_parts.h"
#include "support/fake_tree.h"

namespace memscope {
namespace cgroup_memory_test {

const HostMemory kHost{.total = Bytes{100000},
                       .available = Bytes{60000},
                       .hugetlb = Bytes{10000},
                       .swap_total = {},
                       .swap_free = {},
                       .pressure = {}};

CgroupHierarchy v2(const FakeTree& tree) { return {2, tree.at("cg"), false}; }

void add_v2(FakeTree& tree, const std::string& path, std::string_view limit, std::uint64_t anon) {
    const auto at = [&](const char* file) { return "cg/" + path + "/" + file; };
    tree.add({{at("cgroup.procs"), ""},
              {at("memory.current"), fmt::format("{}\n", anon + 700)},
              {at("memory.max"), limit},
              {at("memory.stat"), fmt::format("anon {}\nfile 500\nkernel 100\nslab_reclaimable 40\nshmem 200\n"
                                              "inactive_anon {}\nactive_anon 200\nunevictable 0\n",
                                              anon, anon)},
              {at("memory.events"), "low 0\nhigh 0\nmax 4\noom 1\noom_kill 2\n"}});
}

TEST(CgroupMemoryV2, HasTheNumbersOfItsFiles) {
    FakeTree tree{{"cg/cgroup.procs", ""}};
    add_v2(tree, "a", "5000\n", 1000);
    tree.write("cg/a/memory.pressure",
               "some avg10=1.00 avg60=0 avg300=0 total=1000000\nfull avg10=0.00 avg60=0 avg300=0 total=0\n");
    auto memory = CgroupMemory::open(v2(tree), "a", tree.root());
    ASSERT_TRUE(memory);
    const auto state = memory->sample(kHost);
    ASSERT_TRUE(state) << state.error().message();
    EXPECT_EQ(state->usage, Bytes{1700});
    EXPECT_EQ(state->by_kind.anon, Bytes{1000});
    EXPECT_EQ(state->by_kind.file, Bytes{300});
    EXPECT_EQ(state->by_kind.other, Bytes{100});
    EXPECT_EQ(state->unreclaimable, Bytes{1260});
    EXPECT_EQ(finite(state->limit), Bytes{5000});
    EXPECT_EQ(state->effective->owner, "own");
    EXPECT_EQ(state->effective->headroom, Bytes{3740});
    EXPECT_EQ(state->events->oom_kill, 2U);
    EXPECT_EQ(state->pressure->some, Seconds(1));
    EXPECT_EQ(state->measured_at, "");
    EXPECT_FALSE(state->refaulted) << "memory.stat has no such line";
    tree.write("cg/a/memory.stat", "anon 1\nfile 1\nworkingset_refault_anon 1\nworkingset_refault_file 2\n");
    EXPECT_EQ(memory->sample(kHost)->refaulted, Bytes{3 * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))});
}

TEST(CgroupMemoryV2, HasTheKernelsHighWaterMarkWhereThereIsOne) {
    FakeTree tree{{"cg/cgroup.procs", ""}};
    add_v2(tree, "a", "5000\n", 1000);
    auto memory = CgroupMemory::open(v2(tree), "a", tree.root());
    EXPECT_FALSE(memory->sample(kHost)->peak) << "no memory.peak before 5.19";
    tree.write("cg/a/memory.peak", "2300\n");
    EXPECT_EQ(memory->sample(kHost)->peak, Bytes{2300});
    tree.write("cg/a/memory.peak", "much\n");
    EXPECT_FALSE(memory->sample(kHost)) << "a high-water mark that is not a number is an error, not 0";
}

TEST(CgroupMemoryV2, HasThePageTablesWhereMemoryStatDoes) {
    FakeTree tree{{"cg/cgroup.procs", ""}};
    add_v2(tree, "a", "5000\n", 1000);
    auto memory = CgroupMemory::open(v2(tree), "a", tree.root());
    EXPECT_FALSE(memory->sample(kHost)->page_tables);
    tree.write("cg/a/memory.stat", "anon 1\nfile 1\nkernel 50\npagetables 30\n");
    EXPECT_EQ(memory->sample(kHost)->page_tables, Bytes{30});
}

TEST(CgroupMemoryV2, HasNoPressureWithoutPsi) {
    FakeTree tree{{"cg/cgroup.procs", ""}};
    add_v2(tree, "a", "max\n", 1000);
    const auto state = CgroupMemory::open(v2(tree), "a", tree.root())->sample(kHost);
    ASSERT_TRUE(state);
    EXPECT_FALSE(state->pressure);
    EXPECT_FALSE(finite(state->limit));
    EXPECT_EQ(state->effective->owner, "host");
    EXPECT_EQ(state->effective->limit, Bytes{90000});
    EXPECT_EQ(state->effective->headroom, Bytes{60000});
}

TEST(CgroupMemoryV2, UsesTheAncestorWithTheLeastHeadroom) {
    FakeTree tree{{"cg/cgroup.procs", ""}};
    add_v2(tree, "a", "9000\n", 8000);  // a sibling of b holds most of the memory
    add_v2(tree, "a/b", "max\n", 3000);
    add_v2(tree, "a/b/c", "5000\n", 1000);
    const auto state = CgroupMemory::open(v2(tree), "a/b/c", tree.root())->sample(kHost);
    ASSERT_TRUE(state);
    ASSERT_EQ(state->candidates.size(), 3U);
    EXPECT_EQ(state->candidates[0].owner, "own");
    EXPECT_EQ(state->candidates[1].owner, "a");
    EXPECT_EQ(state->candidates[1].held, Bytes{8260}) << "the memory of the ancestor, with b's siblings";
    EXPECT_EQ(state->candidates[2].owner, "host");
    EXPECT_EQ(state->effective->owner, "a");
    EXPECT_EQ(finite(state->limit), Bytes{5000});
}

TEST(CgroupMemoryV2, CountsSwapWhereThereIsSome) {
    FakeTree tree{{"cg/cgroup.procs", ""}};
    add_v2(tree, "a", "5000\n", 1000);
    tree.add({{"cg/a/memory.swap.current", "300\n"}, {"cg/a/memory.swap.max", "max\n"}});
    HostMemory host = kHost;
    auto memory = CgroupMemory::open(v2(tree), "a", tree.root());
    EXPECT_EQ(memory->sample(host)->effective->limit, Bytes{5000})
        << "the cgroup has swap files, but the host has no swap";
    host.swap_total = Bytes{2000};
    host.swap_free = Bytes{1500};
    const auto state = memory->sample(host);
    EXPECT_EQ(state->swap, Bytes{300});
    EXPECT_EQ(state->candidates[0].limit, Bytes{6800});
    EXPECT_EQ(state->candidates[0].held, Bytes{1560});
    EXPECT_EQ(state->unreclaimable, Bytes{1260}) << "swap is not part of it";
    tree.remove("cg/a/memory.swap.current");
    tree.remove("cg/a/memory.swap.max");
    EXPECT_EQ(memory->sample(host)->candidates[0].limit, Bytes{5000}) << "the kernel does not count it by cgroup";
}

TEST(CgroupMemoryV2, MeasuresTheAncestorThatHasTheController) {
    FakeTree tree{{"cg/cgroup.procs", ""}, {"cg/a/b/c/cgroup.procs", ""}, {"cg/a/b/cgroup.procs", ""}};
    add_v2(tree, "a", "5000\n", 1000);
    auto memory = CgroupMemory::open(v2(tree), "a/b/c", tree.root());
    auto state = memory->sample(kHost);
    ASSERT_TRUE(state) << state.error().message();
    EXPECT_EQ(state->measured_at, "a");
    EXPECT_EQ(state->usage, Bytes{1700});
    EXPECT_FALSE(finite(state->limit)) << "the limit is that of an ancestor";
    EXPECT_EQ(state->effective->owner, "a");
    EXPECT_FALSE(state->others);

    add_v2(tree, "a/b", "max\n", 400);  // the memory controller was enabled in subtree_control
    EXPECT_EQ(memory->sample(kHost)->measured_at, "a/b");
    tree.remove("cg/a/b/c");
    EXPECT_TRUE(is_gone(memory->sample(kHost).error()));
}

constexpr const char* kMeminfo =
    "MemTotal: 1000 kB\nMemFree: 300 kB\nMemAvailable: 600 kB\nBuffers: 10 kB\nCached: 250 kB\nSwapCached: 5 kB\n"
    "Active(anon): 100 kB\nInactive(anon): 150 kB\nUnevictable: 0 kB\nAnonPages: 220 kB\nShmem: 50 kB\nSlab: 60 kB\n"
    "SReclaimable: 25 kB\nKernelStack: 4 kB\nPageTables: 6 kB\nPercpu: 8 kB\nHugePages_Total: 2\nHugepagesize: 16 kB\n";

TEST(CgroupMemoryOfTheRoot, ComesFromMeminfo) {
    FakeTree tree{{"cg/cgroup.procs", ""},
                  {"cg/memory.stat", "anon 1\nfile 1\n"},
                  {"cg/a/cgroup.procs", ""},
                  {"proc/meminfo", kMeminfo}};
    for (const char* path : {"", "a"}) {
        const auto state = CgroupMemory::open(v2(tree), path, tree.root())->sample(kHost);
        ASSERT_TRUE(state) << state.error().message();
        EXPECT_EQ(state->measured_at, "/proc/meminfo");
        EXPECT_EQ(state->usage, Bytes{700 << 10});
        EXPECT_EQ(state->by_kind.anon, Bytes{220 << 10});
        EXPECT_EQ(state->by_kind.shmem, Bytes{50 << 10});
        EXPECT_EQ(state->by_kind.file, Bytes{210 << 10});
        EXPECT_EQ(state->by_kind.kernel, Bytes{78 << 10});
        EXPECT_EQ(state->by_kind.other, Bytes{142 << 10});
        EXPECT_EQ(state->unreclaimable, Bytes{(250 + 78 - 25) << 10});
        EXPECT_FALSE(state->events);
        EXPECT_FALSE(state->pressure);
        ASSERT_EQ(state->candidates.size(), 1U);
        EXPECT_EQ(state->effective->owner, "host");
    }
}

TEST(CgroupMemoryOfTheRoot, OfAContainerIsReadLikeAnyCgroup) {
    FakeTree tree{{"cg/a/cgroup.procs", ""}};
    add_v2(tree, "", "5000\n", 1000);
    add_v2(tree, "a", "max\n", 900);
    EXPECT_EQ(CgroupMemory::open(v2(tree), "", tree.root())->sample(kHost)->effective->owner, "own");
    EXPECT_EQ(CgroupMemory::open(v2(tree), "a", tree.root())->sample(kHost)->effective->owner, "/");
}

TEST(CgroupMemory, EndsWithItsCgroup) {
    FakeTree tree{{"cg/cgroup.procs", ""}, {"proc/meminfo", kMeminfo}};
    add_v2(tree, "a", "max\n", 1000);
    auto memory = CgroupMemory::open(v2(tree), "a", tree.root());
    ASSERT_TRUE(memory->sample(kHost));
    tree.remove("cg/a");
    EXPECT_TRUE(is_gone(memory->sample(kHost).error()));
    add_v2(tree, "a", "max\n", 1);  // recreated under the same path: not the target
    EXPECT_TRUE(is_gone(memory->sample(kHost).error()));
    EXPECT_TRUE(is_gone(CgroupMemory::open(v2(tree), "b", tree.root()).error()));
}

TEST(CgroupMemory, AnInvalidFileDoesNotMeanThatTheCgroupEnded) {
    FakeTree tree{{"cg/cgroup.procs", ""}};
    add_v2(tree, "a", "max\n", 1000);
    auto memory = CgroupMemory::open(v2(tree), "a", tree.root());
    tree.write("cg/a/memory.current", "lots\n");
    auto state = memory->sample(kHost);
    ASSERT_FALSE(state);
    EXPECT_FALSE(is_gone(state.error()));
    tree.write("cg/a/memory.current", "1\n");
    tree.remove("cg/a/memory.stat");
    state = memory->sample(kHost);
    ASSERT_FALSE(state);
    EXPECT_FALSE(is_gone(state.error()));
    EXPECT_NE(state.error().message().find("memory.stat of cgroup 'a'"), std::string::npos);
}

TEST(CountableKernelMemory, IsPageTablesAndAStackForEachThread) {
    std::vector<Process> processes(2);
    processes[0].task.threads = 3;
    processes[0].task.memory = AddressSpace{.page_tables = Bytes{4096}};
    processes[1].task.threads = 1;  // shares the memory of another process
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    EXPECT_EQ(countable_kernel_memory(processes), Bytes{4096 + 4 * std::max<std::uint64_t>(16384, page)});
}

TEST(SwapCache, IsCountedOnce) {
    const CgroupLimits limits{.version = 2, .memory = Bytes{5000}, .swap = Limit{Unlimited{}}};
    const HostMemory host{.swap_total = Bytes{2000}, .swap_free = Bytes{1500}};
    const HeldMemory held{.unreclaimable = Bytes{1000}, .swap = Bytes{300}, .swap_cached = Bytes{120}};
    const auto candidate = limit_candidate("own", limits, held, host);
    EXPECT_EQ(candidate->held, Bytes{1180});
    EXPECT_EQ(candidate->limit, Bytes{5000 + 300 + 1500}) << "the swap slots stay in use";
    MemoryState memory{.unreclaimable = Bytes{1000}, .swap = Bytes{300}, .swap_cached = Bytes{120}};
    EXPECT_EQ(memory.held(), Bytes{1180});
    memory.swap_cached.reset();
    EXPECT_EQ(memory.held(), Bytes{1300}) << "the size of the swap cache is not known";
    memory.swap_cached = Bytes{500};
    EXPECT_EQ(memory.held(), Bytes{1000});
}

TEST(SwapCache, IsCountedOnceBelowTheLimitsOfACgroupAndItsAncestors) {
    FakeTree tree{{"cg/cgroup.procs", ""}};
    const auto add = [&](const std::string& path, std::uint64_t anon, std::string_view swap, std::string_view cached) {
        add_v2(tree, path, "9000\n", anon);
        tree.write("cg/" + path + "/memory.swap.current", swap);
        tree.write("cg/" + path + "/memory.swap.max", "max\n");
        tree.write("cg/" + path + "/memory.stat",
                   fmt::format("anon {}\nfile 500\nkernel 0\nshmem 0\nswapcached {}\n", anon, cached));
    };
    add("a", 2000, "400\n", "150");
    add("a/b", 1000, "300\n", "120");
    HostMemory host = kHost;
    host.swap_total = Bytes{2000};
    host.swap_free = Bytes{1500};
    const auto state = CgroupMemory::open(v2(tree), "a/b", tree.root())->sample(host);
    ASSERT_TRUE(state) << state.error().message();
    ASSERT_EQ(state->candidates.size(), 3U);
    EXPECT_EQ(state->candidates[0].owner, "own");
    EXPECT_EQ(state->candidates[0].held, Bytes{1000 + 300 - 120});
    EXPECT_EQ(state->candidates[1].owner, "a");
    EXPECT_EQ(state->candidates[1].held, Bytes{2000 + 400 - 150});
    EXPECT_EQ(state->held(), Bytes{1000 + 300 - 120}) << "what is judged";
}

TEST(SwapCache, OfTheHostIsCountedOnceInTheRootCgroup) {
    const FakeTree tree{{"cg/cgroup.procs", ""}, {"cg/memory.stat", "anon 1\nfile 1\n"}, {"proc/meminfo", kMeminfo}};
    HostMemory host = kHost;
    host.swap_total = Bytes{2000};
    host.swap_free = Bytes{1500};
    host.swap_cached = Bytes{200};
    const auto state = CgroupMemory::open(v2(tree), "", tree.root())->sample(host);
    ASSERT_TRUE(state) << state.error().message();
    EXPECT_EQ(state->held(), state->unreclaimable + Bytes{500 - 200});
}

TEST(SwapCache, OfTheHostIsCountedOnce) {
    const HostMemory host{.total = Bytes{10000},
                          .available = Bytes{4000},
                          .swap_total = Bytes{2000},
                          .swap_free = Bytes{1500},
                          .swap_cached = Bytes{200}};
    EXPECT_EQ(host_candidate(host, true).held, Bytes{6000 + 500 - 200});
    EXPECT_EQ(host_candidate(host, false).held, Bytes{6000});
}

TEST(AncestorReadings, AnAncestorOfManyTargetsIsReadOnceATick) {
    FakeTree tree{{"cg/cgroup.procs", ""}};
    add_v2(tree, "a", "5000\n", 2000);
    add_v2(tree, "a/b", "max\n", 1000);
    add_v2(tree, "a/c", "max\n", 1000);
    SharedCgroups shared(v2(tree));
    const auto ancestors = std::make_shared<AncestorReadings>();
    CgroupMemory b = CgroupMemory::of(v2(tree), *shared.open_chain("a/b"), tree.root(), ancestors);
    CgroupMemory c = CgroupMemory::of(v2(tree), *shared.open_chain("a/c"), tree.root(), ancestors);
    const auto headroom = b.sample(kHost)->effective->headroom;
    EXPECT_EQ(ancestors->files_read_of(), 2U) << "a and the root";
    add_v2(tree, "a", "5000\n", 3000);
    EXPECT_EQ(c.sample(kHost)->effective->headroom, headroom) << "of the same tick";
    EXPECT_EQ(ancestors->files_read_of(), 2U);
    ancestors->begin_tick();
    EXPECT_EQ(c.sample(kHost)->effective->headroom, headroom - Bytes{1000});
    EXPECT_EQ(c.sample(kHost)->effective->owner, "a");
}

}  // namespace cgroup_memory_test
}  // namespace memscope
