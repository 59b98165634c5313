#include "sources/cgroup/cgroup_stat.h"

#include <gtest/gtest.h>

#include "sources/cgroup/memory_parts.h"

namespace memscope {
namespace cgroup_stat_test {

constexpr Bytes mib(std::uint64_t n) { return Bytes{n << 20}; }

TEST(MemoryStat, OfV2TakesKnownKeysOnly) {
    const auto stat = parse_memory_stat_v2("anon 100\nfile 200\nanon_thp 7\nshmem 50\nfuture_key x\nunevictable 3\n");
    ASSERT_TRUE(stat) << stat.error().message();
    EXPECT_EQ(stat->anon, Bytes{100});
    EXPECT_EQ(stat->file, Bytes{200});
    EXPECT_EQ(stat->shmem, Bytes{50});
    EXPECT_EQ(stat->unevictable, Bytes{3});
    EXPECT_FALSE(stat->kernel) << "absent is not 0";
    EXPECT_FALSE(stat->swapcached);
}

TEST(MemoryStat, OfV1TakesTheTotals) {
    const auto stat = parse_memory_stat_v1(
        "cache 1\nrss 2\nshmem 3\nswap 4\ntotal_cache 10\ntotal_rss 20\ntotal_shmem 5\ntotal_swap 6\ntotal_active_anon "
        "8\n");
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->file, Bytes{10});
    EXPECT_EQ(stat->anon, Bytes{20});
    EXPECT_EQ(stat->shmem, Bytes{5});
    EXPECT_EQ(stat->swap, Bytes{6});
    EXPECT_EQ(stat->active_anon, Bytes{8});
    EXPECT_FALSE(stat->inactive_anon);
}

TEST(MemoryStat, RefusesGarbageForAKnownKey) {
    for (const char* text : {"anon x\n", "anon\n", "anon -1\n", "anon 1 2\n", "anon 99999999999999999999999\n"}) {
        const auto stat = parse_memory_stat_v2(text);
        ASSERT_FALSE(stat) << text;
        EXPECT_NE(stat.error().message().find("anon of memory.stat"), std::string::npos);
    }
    EXPECT_TRUE(parse_memory_stat_v2(""));
    EXPECT_TRUE(parse_memory_stat_v2("\n\nanonymous 1\n"));
}

TEST(RefaultedPages, AreThoseOfBothKinds) {
    const char* v2 = "anon 1\nworkingset_refault_anon 3\nworkingset_refault_file 40\nworkingset_activate_file 9\n";
    EXPECT_EQ(*parse_refaulted_pages(v2, 2), 43U);
    const char* v1 =
        "workingset_refault_anon 100\nworkingset_refault_file 100\ntotal_workingset_refault_anon 0\n"
        "total_workingset_refault_file 7\n";
    EXPECT_EQ(*parse_refaulted_pages(v1, 1), 7U);
}

TEST(RefaultedPages, HaveOneLineOnOldKernelsAndNoneOnSome) {
    EXPECT_EQ(*parse_refaulted_pages("workingset_refault 5\n", 2), 5U);
    EXPECT_EQ(*parse_refaulted_pages("anon 5\nfile 6\n", 2), std::nullopt);
    EXPECT_EQ(*parse_refaulted_pages("workingset_refault_file 5\ntotal_cache 5\n", 1), std::nullopt);
    EXPECT_FALSE(parse_refaulted_pages("workingset_refault_file many\n", 2));
}

TEST(MemoryEventsText, HasItsSixCounters) {
    const auto events =
        parse_memory_events("low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\nsock_throttled 9\n");
    ASSERT_TRUE(events);
    EXPECT_EQ(events->low, 1U);
    EXPECT_EQ(events->high, 2U);
    EXPECT_EQ(events->max, 3U);
    EXPECT_EQ(events->oom, 4U);
    EXPECT_EQ(events->oom_kill, 5U);
    EXPECT_EQ(events->oom_group_kill, 6U);
    EXPECT_EQ(parse_memory_events("max 3\noom_kill 5\n")->oom_kill, 5U) << "5.10 has fewer keys";
    EXPECT_FALSE(parse_memory_events("oom_kill five\n"));
}

TEST(OomControl, HasTheKillsOfNewerKernels) {
    EXPECT_EQ(*parse_oom_control("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), 3U);
    EXPECT_EQ(*parse_oom_control("oom_kill_disable 0\nunder_oom 0\n"), std::nullopt);
    EXPECT_FALSE(parse_oom_control("oom_kill \n"));
}

TEST(PressureText, IsInPercentAndMicroseconds) {
    const auto pressure = parse_pressure(
        "some avg10=12.50 avg60=1.00 avg300=0.10 total=2500000\nfull avg10=3.00 avg60=0.00 avg300=0.00 total=1\n");
    ASSERT_TRUE(pressure);
    EXPECT_DOUBLE_EQ(pressure->some_avg10, 0.125);
    EXPECT_DOUBLE_EQ(pressure->full_avg10, 0.03);
    EXPECT_DOUBLE_EQ(pressure->some.count(), 2.5);
    EXPECT_DOUBLE_EQ(pressure->full.count(), 1e-6);
}

TEST(PressureText, RefusesInvalidText) {
    for (const char* text :
         {"", "some avg10=1.00 total=1\n", "some avg10=x total=1\nfull avg10=0 total=1\n",
          "some avg10=1.0 total=-1\nfull avg10=0 total=1\n", "some avg10=nan total=1\nfull avg10=0 total=1\n"})
        EXPECT_FALSE(parse_pressure(text)) << text;
}

TEST(LimitText, ReadsUnlimitedOfBothCgroupVersions) {
    EXPECT_FALSE(finite(*parse_limit("max\n")));
    EXPECT_FALSE(finite(*parse_limit("9223372036854771712\n"))) << "v1 with 4 KiB pages";
    EXPECT_FALSE(finite(*parse_limit("9223372036854710272\n"))) << "v1 with 64 KiB pages";
    EXPECT_FALSE(finite(*parse_limit("18446744073709551615\n")));
    EXPECT_EQ(finite(*parse_limit("1073741824\n")), Bytes{1073741824});
    EXPECT_EQ(finite(*parse_limit("0\n")), Bytes{0});
    EXPECT_TRUE(finite(*parse_limit("9223372036000000000\n"))) << "huge, but a limit that a user set";
    for (const char* text : {"", "maximum", "-1", "1G"}) EXPECT_FALSE(parse_limit(text)) << text;
}

MemoryStat usual_stat() {
    MemoryStat stat;
    stat.anon = mib(100);
    stat.file = mib(70);
    stat.shmem = mib(20);
    stat.swapcached = mib(5);
    stat.kernel = mib(12);
    stat.slab_reclaimable = mib(4);
    stat.active_anon = mib(90);
    stat.inactive_anon = mib(30);
    stat.unevictable = mib(10);
    return stat;
}

TEST(TakeApart, MakesKindsThatSumToUsage) {
    const auto parts = split_usage(mib(190), usual_stat());
    ASSERT_TRUE(parts);
    const MemoryByKind& kinds = parts->by_kind;
    EXPECT_EQ(kinds.anon, mib(100));
    EXPECT_EQ(kinds.shmem, mib(20));
    EXPECT_EQ(kinds.file, mib(45)) << "without shmem and swap cache";
    EXPECT_EQ(kinds.kernel, mib(12));
    EXPECT_EQ(kinds.other, mib(13));
    EXPECT_EQ(kinds.anon + kinds.shmem + kinds.file + kinds.kernel + kinds.other, mib(190));
    EXPECT_EQ(parts->unreclaimable, mib(128)) << "100 + 20 + 12 - 4";
}

TEST(TakeApart, NeverLetsOtherFallBelowZero) { EXPECT_EQ(split_usage(mib(10), usual_stat())->by_kind.other, Bytes{0}); }

TEST(TakeApart, LeavesPagesGivenBackWithMadvFreeOut) {
    MemoryStat stat = usual_stat();
    stat.active_anon = mib(40);  // 40 + 30 + 10 is less than anon + shmem
    EXPECT_EQ(split_usage(mib(190), stat)->unreclaimable, mib(88));
    stat.unevictable = std::nullopt;
    EXPECT_EQ(split_usage(mib(190), stat)->unreclaimable, mib(128)) << "a missing list proves nothing";
}

TEST(TakeApart, SumsTheKindsOfKernelMemoryWithoutATotal) {
    MemoryStat stat = usual_stat();
    stat.kernel = std::nullopt;
    stat.kernel_stack = mib(1);
    stat.slab = mib(6);
    stat.pagetables = mib(2);
    stat.percpu = mib(3);
    stat.sock = mib(4);
    EXPECT_EQ(split_usage(mib(190), stat)->by_kind.kernel, mib(16));
    stat.percpu = std::nullopt;
    EXPECT_EQ(split_usage(mib(190), stat)->by_kind.kernel, mib(13));
}

TEST(TakeApart, NeedsAnonAndFile) {
    MemoryStat stat = usual_stat();
    stat.anon = std::nullopt;
    EXPECT_FALSE(split_usage(mib(190), stat));
}

const HostMemory kNoSwap{
    .total = mib(1000), .available = mib(400), .hugetlb = mib(100), .swap_total = {}, .swap_free = {}, .pressure = {}};
const HostMemory kSwap{.total = mib(1000),
                       .available = mib(400),
                       .hugetlb = mib(100),
                       .swap_total = mib(64),
                       .swap_free = mib(40),
                       .pressure = {}};

TEST(LimitCandidateOf, IsAbsentWithoutALimit) {
    EXPECT_FALSE(limit_candidate("own", {2, Unlimited{}, Limit{mib(1)}}, {}, kSwap));
}

TEST(LimitCandidateOf, LeavesSwapOutWhereThereIsNone) {
    const HeldMemory held{mib(50), mib(7)};
    for (const auto& [limits, host] : {std::pair(CgroupLimits{2, mib(100), Limit{Unlimited{}}}, kNoSwap),
                                       std::pair(CgroupLimits{2, mib(100), std::nullopt}, kSwap)}) {
        const auto candidate = limit_candidate("own", limits, held, host);
        EXPECT_EQ(candidate->limit, mib(100));
        EXPECT_EQ(candidate->held, mib(50));
    }
}

TEST(LimitCandidateOf, AddsWhatSwapCanTake) {
    const HeldMemory held{mib(50), mib(7)};
    EXPECT_EQ(limit_candidate("own", {2, mib(100), Limit{Unlimited{}}}, held, kSwap)->limit, mib(147));
    EXPECT_EQ(limit_candidate("own", {2, mib(100), Limit{mib(10)}}, held, kSwap)->limit, mib(110));
    EXPECT_EQ(limit_candidate("own", {2, mib(100), Limit{mib(0)}}, held, kSwap)->limit, mib(100));
    EXPECT_EQ(limit_candidate("own", {1, mib(100), Limit{Unlimited{}}}, held, kSwap)->limit, mib(147));
    EXPECT_EQ(limit_candidate("own", {1, mib(100), Limit{mib(120)}}, held, kSwap)->limit, mib(120)) << "memsw is both";
    EXPECT_EQ(limit_candidate("own", {1, mib(100), Limit{mib(120)}}, held, kSwap)->held, mib(57));
}

TEST(HostCandidate, UsesAvailableMemory) {
    const auto without = host_candidate(kNoSwap, false);
    EXPECT_EQ(without.owner, "host");
    EXPECT_EQ(without.limit, mib(900));
    EXPECT_EQ(without.held, mib(500));
    const auto with = host_candidate(kSwap, true);
    EXPECT_EQ(with.limit, mib(964));
    EXPECT_EQ(with.limit - with.held, mib(440)) << "available and free swap";
}

}  // namespace cgroup_stat_test
}  // namespace memscope
