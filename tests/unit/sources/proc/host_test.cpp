#include "sources/proc/host.h"

#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace memscope {
namespace host_test {

constexpr const char* kMeminfo =
    "MemTotal:       24643328 kB\nMemFree:        24436432 kB\nMemAvailable:   24417004 kB\nSwapTotal:          1024 "
    "kB\n"
    "SwapFree:            512 kB\nSwapCached:           64 kB\nHugePages_Total:       3\nHugepagesize:       2048 "
    "kB\nHugetlb:           10240 kB\n";

TEST(Meminfo, IsInBytes) {
    const auto host = parse_meminfo(kMeminfo);
    ASSERT_TRUE(host);
    EXPECT_EQ(host->total, Bytes{24643328ULL << 10});
    EXPECT_EQ(host->available, Bytes{24417004ULL << 10});
    EXPECT_EQ(host->swap_total, Bytes{1 << 20});
    EXPECT_EQ(host->swap_free, Bytes{512 << 10});
    EXPECT_EQ(host->swap_cached, Bytes{64 << 10});
    EXPECT_EQ(host->hugetlb, Bytes{10 << 20}) << "all page sizes, not only the default one";
}

TEST(Meminfo, CountsHugePagesWithoutAHugetlbLine) {
    EXPECT_EQ(parse_meminfo("MemTotal: 9 kB\nMemAvailable: 5 kB\nHugePages_Total: 3\nHugepagesize: 2048 kB\n")->hugetlb,
              Bytes{6 << 20});
    EXPECT_EQ(parse_meminfo("MemTotal: 9 kB\nMemAvailable: 5 kB\n")->hugetlb, Bytes{0});
}

TEST(Meminfo, NeedsTotalAndAvailable) {
    EXPECT_FALSE(parse_meminfo(""));
    EXPECT_FALSE(parse_meminfo("MemTotal: 9 kB\n"));
    EXPECT_FALSE(parse_meminfo("MemAvailable: 9 kB\n"));
    EXPECT_FALSE(parse_meminfo("MemTotal: nine kB\nMemAvailable: 9 kB\n"));
    EXPECT_FALSE(parse_meminfo_detail("MemTotal: 9 kB\n"));
}

TEST(Meminfo, CaresOnlyForTheLinesItReads) {
    const std::string text = std::string(kMeminfo) + "Zones: DMA Normal\nNewest:\nno colon\nNegative: -1 kB\n";
    ASSERT_TRUE(parse_meminfo(text)) << parse_meminfo(text).error().message();
    EXPECT_EQ(parse_meminfo(text)->total, Bytes{24643328ULL << 10});
    EXPECT_TRUE(parse_meminfo_detail(text));
}

TEST(Meminfo, RefusesInvalidValues) {
    const std::string wrong_swap = "MemTotal: 9 kB\nMemAvailable: 5 kB\nSwapTotal: much\n";
    ASSERT_FALSE(parse_meminfo(wrong_swap));
    EXPECT_EQ(parse_meminfo(wrong_swap).error().where, "/proc/meminfo has 'much' for SwapTotal");
    EXPECT_EQ(parse_meminfo("MemTotal:\nMemAvailable: x\n").error().where, "/proc/meminfo has '' for MemTotal");
    EXPECT_EQ(parse_meminfo_detail("MemTotal: 9 kB\n").error().where, "/proc/meminfo has no MemFree");
    EXPECT_FALSE(parse_meminfo_detail("MemTotal: 9 kB\nMemFree: 5 kB\nSlab: ? kB\n"));
}

TEST(Host, HasPressureOnlyWhereTheKernelHasIt) {
    FakeTree tree{{"proc/meminfo", kMeminfo}};
    ASSERT_TRUE(read_host(tree.root()));
    EXPECT_FALSE(read_host(tree.root())->pressure);
    tree.write("proc/pressure/memory",
               "some avg10=5.00 avg60=0 avg300=0 total=7\nfull avg10=1.00 avg60=0 avg300=0 total=3\n");
    EXPECT_DOUBLE_EQ(read_host(tree.root())->pressure->some_avg10, 0.05);
    tree.write("proc/pressure/memory", "");
    EXPECT_FALSE(read_host(tree.root())->pressure);
}

TEST(Host, CannotBeReadWithoutProc) {
    FakeTree tree;
    EXPECT_FALSE(read_host(tree.root()));
}

TEST(Host, OfThisMachineIsPlausible) {
    const auto host = read_host({});
    ASSERT_TRUE(host) << host.error().message();
    EXPECT_GT(host->total, Bytes{16 << 20});
    EXPECT_LE(host->available, host->total);
    const auto root = read_root_memory({}, *host);
    ASSERT_TRUE(root);
    const MemoryByKind& kinds = root->by_kind;
    EXPECT_EQ(kinds.anon + kinds.shmem + kinds.file + kinds.kernel + kinds.other, root->usage);
}

}  // namespace host_test
}  // namespace memscope
