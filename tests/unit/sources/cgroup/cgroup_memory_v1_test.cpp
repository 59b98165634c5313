#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sources/cgroup/cgroup_memory.h"
#include "support/fake_tree.h"

namespace memscope {
namespace cgroup_memory_v1_test {

constexpr const char* kNoLimit = "9223372036854771712\n";
const HostMemory kHost{.total = Bytes{100000},
                       .available = Bytes{60000},
                       .hugetlb = {},
                       .swap_total = {},
                       .swap_free = {},
                       .pressure = {}};

CgroupHierarchy v1(const FakeTree& tree) { return {1, tree.at("cg"), true}; }

void set_kills(FakeTree& tree, const std::string& path, int kills) {
    tree.write("cg/" + path + "/memory.oom_control",
               fmt::format("oom_kill_disable 0\nunder_oom 0\noom_kill {}\n", kills));
}

void add_v1(FakeTree& tree, const std::string& path, std::string_view limit, std::uint64_t rss, int kills = 0) {
    const auto at = [&](const char* file) { return "cg/" + path + "/" + file; };
    tree.add({{at("cgroup.procs"), ""},
              {at("memory.usage_in_bytes"), fmt::format("{}\n", rss + 700)},
              {at("memory.limit_in_bytes"), limit},
              {at("memory.failcnt"), "9\n"},
              {at("memory.kmem.usage_in_bytes"), "100\n"},
              {at("memory.stat"),
               fmt::format("cache 1\nrss 1\nshmem 1\ntotal_cache 500\ntotal_rss {}\ntotal_shmem 200\ntotal_swap 30\n"
                           "total_inactive_anon {}\ntotal_active_anon 200\ntotal_unevictable 0\n",
                           rss, rss)}});
    set_kills(tree, path, kills);
}

TEST(CgroupMemoryV1, HasTheNumbersOfItsFiles) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"}};
    add_v1(tree, "a", "5000\n", 1000, 2);
    const auto state = CgroupMemory::open(v1(tree), "a", tree.root())->sample(kHost, Bytes{60});
    ASSERT_TRUE(state) << state.error().message();
    EXPECT_EQ(state->usage, Bytes{1700});
    EXPECT_EQ(state->by_kind.anon, Bytes{1000});
    EXPECT_EQ(state->by_kind.shmem, Bytes{200});
    EXPECT_EQ(state->by_kind.file, Bytes{300});
    EXPECT_EQ(state->by_kind.kernel, Bytes{100});
    EXPECT_EQ(state->by_kind.other, Bytes{100});
    EXPECT_EQ(state->unreclaimable, Bytes{1260}) << "includes only the kernel memory that was counted by process";
    EXPECT_TRUE(state->kernel_partly_counted);
    EXPECT_EQ(state->events->max, 9U);
    EXPECT_EQ(state->events->oom_kill, 2U);
    EXPECT_FALSE(state->pressure);
    EXPECT_EQ(finite(state->limit), Bytes{5000});
    EXPECT_EQ(state->effective->owner, "own");
}

TEST(CgroupMemoryV1, HasTheKernelsHighWaterMark) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"}};
    add_v1(tree, "a", "5000\n", 1000);
    tree.write("cg/a/memory.max_usage_in_bytes", "2300\n");
    EXPECT_EQ(CgroupMemory::open(v1(tree), "a", tree.root())->sample(kHost)->peak, Bytes{2300});
}

TEST(CgroupMemoryV1, TakesTheLargestNumberForUnlimited) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"}};
    add_v1(tree, "a", kNoLimit, 1000);
    const auto state = CgroupMemory::open(v1(tree), "a", tree.root())->sample(kHost);
    EXPECT_FALSE(finite(state->limit));
    EXPECT_EQ(state->effective->owner, "host");
}

TEST(CgroupMemoryV1, LivesWithoutKernelMemoryAccounting) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"}};
    add_v1(tree, "a", kNoLimit, 1000);
    tree.remove("cg/a/memory.kmem.usage_in_bytes");
    const auto state = CgroupMemory::open(v1(tree), "a", tree.root())->sample(kHost);
    ASSERT_TRUE(state);
    EXPECT_EQ(state->by_kind.kernel, Bytes{0});
    EXPECT_EQ(state->by_kind.other, Bytes{200});
}

// Caches of inodes and dentries are kernel memory, and v1 does not report their size.
TEST(CgroupMemoryV1, DentryCachesDoNotCountAsUnreclaimable) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"}};
    add_v1(tree, "a", "5000\n", 1000);
    auto memory = CgroupMemory::open(v1(tree), "a", tree.root());
    const auto before = memory->sample(kHost, Bytes{60});
    tree.write("cg/a/memory.kmem.usage_in_bytes", "2000\n");
    tree.write("cg/a/memory.usage_in_bytes", "3600\n");
    const auto after = memory->sample(kHost, Bytes{60});
    EXPECT_EQ(after->by_kind.kernel, Bytes{2000});
    EXPECT_EQ(after->unreclaimable, before->unreclaimable);
    EXPECT_EQ(after->effective->headroom, before->effective->headroom);
    EXPECT_EQ(memory->sample(kHost, Bytes{90})->unreclaimable, before->unreclaimable + Bytes{30}) << "page tables";
    EXPECT_EQ(memory->sample(kHost, Bytes{9000})->unreclaimable, Bytes{1200 + 2000})
        << "at most the kernel memory that is charged";
}

TEST(CgroupMemoryV1, SwapCacheIsNoPageCache) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"}};
    add_v1(tree, "a", "5000\n", 1000);
    auto memory = CgroupMemory::open(v1(tree), "a", tree.root());
    const std::string stat = *read_file(tree.at("cg/a/memory.stat"));
    tree.write("cg/a/memory.stat", stat + "total_swapcached 120\n");
    const auto state = memory->sample(kHost);
    EXPECT_EQ(state->by_kind.file, Bytes{180});
    EXPECT_EQ(state->swap_cached, Bytes{0}) << "v1 does not include the swap cache in swap";
}

TEST(CgroupMemoryV1, CountsSwapByMemsw) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"}};
    add_v1(tree, "a", "5000\n", 1000);
    tree.add({{"cg/a/memory.memsw.usage_in_bytes", "1731\n"}, {"cg/a/memory.memsw.limit_in_bytes", "5400\n"}});
    HostMemory host = kHost;
    host.swap_total = Bytes{2000};
    host.swap_free = Bytes{1500};
    const auto state = CgroupMemory::open(v1(tree), "a", tree.root())->sample(host);
    ASSERT_TRUE(state);
    EXPECT_EQ(state->swap, Bytes{30});
    EXPECT_EQ(state->candidates[0].limit, Bytes{5400});
    EXPECT_EQ(state->candidates[0].held, Bytes{1230});
}

TEST(CgroupMemoryV1, HeedsAncestorsOnlyWhereTheyChargeChildren) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"}, {"cg/a/memory.use_hierarchy", "1\n"}};
    add_v1(tree, "a", "2000\n", 1500);
    add_v1(tree, "a/b", kNoLimit, 1000);
    auto memory = CgroupMemory::open(v1(tree), "a/b", tree.root());
    EXPECT_EQ(memory->sample(kHost)->effective->owner, "a");
    tree.write("cg/a/memory.use_hierarchy", "0\n");
    EXPECT_EQ(memory->sample(kHost)->effective->owner, "host");
}

TEST(CgroupMemoryV1, OfTheRootComesFromMeminfo) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"},
                  {"proc/meminfo", "MemTotal: 1000 kB\nMemFree: 300 kB\nAnonPages: 220 kB\nCached: 100 kB\n"}};
    add_v1(tree, "", kNoLimit, 1000);
    const auto state = CgroupMemory::open(v1(tree), "", tree.root())->sample(kHost);
    ASSERT_TRUE(state) << state.error().message();
    EXPECT_EQ(state->measured_at, "/proc/meminfo");
    EXPECT_EQ(state->usage, Bytes{700 << 10});
    EXPECT_FALSE(state->events);
}

TEST(OomKillsV1, AreSummedOverTheSubtree) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"}};
    add_v1(tree, "a", kNoLimit, 1000, 1);
    add_v1(tree, "a/b", kNoLimit, 1000, 2);
    add_v1(tree, "a/b/c", kNoLimit, 1000, 3);
    add_v1(tree, "x", kNoLimit, 1000, 50);
    auto memory = CgroupMemory::open(v1(tree), "a", tree.root());
    EXPECT_EQ(memory->sample(kHost)->events->oom_kill, 6U);
}

TEST(OomKillsV1, AreSummedAgainAfterAKill) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"}};
    add_v1(tree, "a", kNoLimit, 1000);
    add_v1(tree, "a/b", kNoLimit, 1000, 2);
    auto memory = CgroupMemory::open(v1(tree), "a", tree.root());
    EXPECT_EQ(memory->sample(kHost)->events->oom_kill, 2U);
    set_kills(tree, "a/b", 3);
    EXPECT_EQ(memory->sample(kHost)->events->oom_kill, 2U) << "no kill was noted, so nothing is read";
    memory->note_kill();
    EXPECT_EQ(memory->sample(kHost)->events->oom_kill, 3U);
    set_kills(tree, "a/b", 4);
    for (int i = 3; i < 60; ++i) EXPECT_EQ(memory->sample(kHost)->events->oom_kill, 3U);
    EXPECT_EQ(memory->sample(kHost)->events->oom_kill, 4U) << "every 60th sample reads the counters anyway";
}

TEST(OomKillsV1, StayCountedWhenAChildIsRemoved) {
    FakeTree tree{{"cg/cgroup.sane_behavior", "0\n"}};
    add_v1(tree, "a", kNoLimit, 1000, 1);
    add_v1(tree, "a/b", kNoLimit, 1000, 5);
    auto memory = CgroupMemory::open(v1(tree), "a", tree.root());
    EXPECT_EQ(memory->sample(kHost)->events->oom_kill, 6U);
    tree.remove("cg/a/b");
    memory->note_kill();
    EXPECT_EQ(memory->sample(kHost)->events->oom_kill, 6U);
    add_v1(tree, "a/new", kNoLimit, 1000, 2);
    memory->note_kill();
    EXPECT_EQ(memory->sample(kHost)->events->oom_kill, 8U) << "the kills of a new child are added";
}

TEST(OomKillsV1, AreNotCountedTwiceAfterAWalkThatMissedSome) {
    OomKills kills;
    kills.take({{CgroupId{1}, 3}, {CgroupId{2}, 4}}, true);
    EXPECT_EQ(kills.total(), 7U);
    kills.take({{CgroupId{1}, 3}}, false);
    kills.take({{CgroupId{1}, 3}, {CgroupId{2}, 5}}, true);
    EXPECT_EQ(kills.total(), 8U);
    kills.take({{CgroupId{1}, 0}}, true);
    EXPECT_EQ(kills.total(), 8U) << "never goes down";
}

}  // namespace cgroup_memory_v1_test
}  // namespace memscope
