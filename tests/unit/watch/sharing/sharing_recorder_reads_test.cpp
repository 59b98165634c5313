#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/fake_tree.h"
#include "watch/sharing/sharing_recorder.h"

namespace memscope {
namespace sharing_recorder_reads_test {

constexpr std::string_view kRollup =
    "Rss: 1332 kB\nPss: 167 kB\nPss_Anon: 104 kB\nPss_Shmem: 4 kB\nShared_Clean: 1192 kB\nShared_Dirty: 2 kB\n"
    "Private_Clean: 32 kB\nPrivate_Dirty: 106 kB\nAnonymous: 108 kB\n";

ProcessId started_at(pid_t pid, std::uint64_t ticks) {
    return {pid, ticks * (1'000'000'000ULL / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)))};
}

constexpr std::string_view kStat =
    "42 (a) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 7 0 777 8192000 500 18446744073709551615 1 1 0\n";

// A reader with a helper process of its own that reads a made tree.
struct Reading {
    explicit Reading(const FakeTree& tree) : helpers(*ReadHelpers::start(tree.root())) {}

    // Makes ticks, each a second later on the clock of the test, until is() is true or about ten seconds have passed.
    template <class Is>
    bool until(const std::vector<ReadSchedule::Candidate>& candidates, Is is) {
        for (std::uint64_t second = 1; second < 10'000; ++second) {
            reader.tick(second * 1'000'000'000, candidates);
            if (is()) return true;
            pollfd answers{helpers->slow.fd(), POLLIN, 0};
            (void)::poll(&answers, 1, 1);
            helpers->pump();
        }
        return false;
    }

    std::shared_ptr<ReadHelpers> helpers;
    SharingReader reader{[this](const SharingJob& job) { return helpers->slow.ask(job); }};
};

TEST(SharingReader, ReadsLivingProcessesAndForgetsEndedOnes) {
    const FakeTree tree{{"proc/42/stat", kStat}, {"proc/42/smaps_rollup", kRollup}};
    const ProcessId id = started_at(42, 777);
    Reading reading(tree);
    const SharingReadings& readings = reading.reader.readings();
    ASSERT_TRUE(reading.until({{id, {1 << 20}, true}}, [&] { return readings.contains(id); }));
    EXPECT_EQ(readings.at(id).pages->pss->all.n, 167U << 10);
    EXPECT_GT(readings.at(id).read_ns, 0U);
    reading.reader.tick(20'000'000'000'000, {});
    EXPECT_TRUE(readings.empty());
}

TEST(SharingReader, WhatMayNotBeReadIsKnownAsThat) {
    const FakeTree tree{{"proc/42/stat", kStat}};
    const ProcessId id = started_at(42, 777);
    Reading reading(tree);
    ASSERT_TRUE(reading.until({{id, {1 << 20}, true}}, [&] { return reading.reader.readings().contains(id); }));
    EXPECT_FALSE(reading.reader.readings().at(id).pages);
}

TEST(SharingReader, AnotherProcessWithTheSamePidIsNotRead) {
    const FakeTree tree{{"proc/42/stat", kStat},
                        {"proc/42/smaps_rollup", kRollup},
                        {"proc/43/stat", kStat},
                        {"proc/43/smaps_rollup", kRollup}};
    const ProcessId gone = started_at(42, 999);
    const ProcessId there = started_at(43, 777);
    Reading reading(tree);
    const std::vector<ReadSchedule::Candidate> both = {{gone, {2 << 20}, true}, {there, {1 << 20}, true}};
    ASSERT_TRUE(reading.until(both, [&] { return reading.reader.readings().contains(there); }));
    EXPECT_FALSE(reading.reader.readings().contains(gone));  // although it was the first candidate
}

// A read that never ends: a FIFO without a writer replaces a file whose owner never answers.
TEST(SharingReader, NeitherTicksNorTheEndWaitForAReadThatNeverEnds) {
    const FakeTree tree{{"proc/42/stat", kStat}};
    ASSERT_EQ(::mkfifo((tree.root().proc / "42/smaps_rollup").c_str(), 0600), 0);
    const ProcessId id = started_at(42, 777);
    Reading reading(tree);
    for (std::uint64_t second = 1; second < 100; ++second) {
        reading.reader.tick(second * 1'000'000'000, {{id, {1 << 20}, true}});
        reading.helpers->pump();
    }
    EXPECT_FALSE(reading.reader.readings().contains(id));
}

TEST(SharingReader, AProcessThatBlocksItsReaderIsAsOneThatMayNotBeRead) {
    const ProcessId id{42, 1};
    SharingReader reader([](const SharingJob&) -> std::optional<Result<SharingAnswer>> {
        return Result<SharingAnswer>(system_error(ETIMEDOUT, "read"));
    });
    reader.tick(1'000'000'000, {{id, {1 << 20}, true}});
    ASSERT_TRUE(reader.readings().contains(id));
    EXPECT_FALSE(reader.readings().at(id).pages);
}

}  // namespace sharing_recorder_reads_test
}  // namespace memscope
