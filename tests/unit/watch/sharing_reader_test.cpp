#include "watch/sharing_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/fake_tree.h"

namespace memscope {
namespace {

constexpr std::string_view kRollup =
    "Rss: 1332 kB\nPss: 167 kB\nPss_Anon: 104 kB\nPss_Shmem: 4 kB\nShared_Clean: 1192 kB\nShared_Dirty: 2 kB\n"
    "Private_Clean: 32 kB\nPrivate_Dirty: 106 kB\nAnonymous: 108 kB\n";

ProcessId started_at(pid_t pid, std::uint64_t ticks) {
    return {pid, ticks * (1'000'000'000ULL / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)))};
}

constexpr std::string_view kStat =
    "42 (a) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 7 0 777 8192000 500 18446744073709551615 1 1 0\n";

// Ticks of one second of its own clock, until it is so or ten seconds have passed.
template <class Is>
bool until(SharingReader& reader, const std::vector<ReadSchedule::Candidate>& candidates, Is is) {
    for (std::uint64_t second = 1; second < 10'000; ++second) {
        reader.tick(second * 1'000'000'000, candidates);
        if (is()) return true;
        ::usleep(1000);
    }
    return false;
}

TEST(SharingReader, ReadsWhoIsThereAndForgetsWhoIsGone) {
    const FakeTree tree{{"proc/42/stat", kStat}, {"proc/42/smaps_rollup", kRollup}};
    const ProcessId id = started_at(42, 777);
    SharingReader reader(tree.root());
    ASSERT_TRUE(until(reader, {{id, {1 << 20}, true}}, [&] { return reader.readings().contains(id); }));
    EXPECT_EQ(reader.readings().at(id).pages->pss->all.n, 167U << 10);
    EXPECT_GT(reader.readings().at(id).read_ns, 0U);
    reader.tick(20'000'000'000'000, {});
    EXPECT_TRUE(reader.readings().empty());
}

TEST(SharingReader, WhatMayNotBeReadIsKnownAsThat) {
    const FakeTree tree{{"proc/42/stat", kStat}};
    const ProcessId id = started_at(42, 777);
    SharingReader reader(tree.root());
    ASSERT_TRUE(until(reader, {{id, {1 << 20}, true}}, [&] { return reader.readings().contains(id); }));
    EXPECT_FALSE(reader.readings().at(id).pages);
}

TEST(SharingReader, AnotherProcessWithTheSamePidIsNotRead) {
    const FakeTree tree{{"proc/42/stat", kStat},
                        {"proc/42/smaps_rollup", kRollup},
                        {"proc/43/stat", kStat},
                        {"proc/43/smaps_rollup", kRollup}};
    const ProcessId gone = started_at(42, 999);
    const ProcessId there = started_at(43, 777);
    SharingReader reader(tree.root());
    const std::vector<ReadSchedule::Candidate> both = {{gone, {2 << 20}, true}, {there, {1 << 20}, true}};
    ASSERT_TRUE(until(reader, both, [&] { return reader.readings().contains(there); }));
    EXPECT_FALSE(reader.readings().contains(gone));  // though it came first
}

TEST(SharingReader, EndsWhileReadsAreWaiting) {
    const FakeTree tree{{"proc/42/stat", kStat}, {"proc/42/smaps_rollup", kRollup}};
    for (int i = 0; i < 50; ++i) {
        SharingReader reader(tree.root());
        reader.tick(1'000'000'000, {{started_at(42, 777), {1 << 20}, true}});
    }
}

}  // namespace
}  // namespace memscope
