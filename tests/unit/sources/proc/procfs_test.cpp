#include "sources/proc/procfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/fake_tree.h"

namespace memscope {
namespace procfs_test {

using testing::ElementsAre;
using testing::IsEmpty;

std::string nul(std::string text) {  // '|' stands for NUL
    for (char& c : text)
        if (c == '|') c = '\0';
    return text;
}

std::string stat_line(const std::string& comm, std::uint64_t start) {
    return "42 (" + comm + ") S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 7 0 " + std::to_string(start) +
           " 8192000 500 18446744073709551615 1 1 0\n";
}

ProcessId started_at(pid_t pid, std::uint64_t ticks) {
    return {pid, ticks * (1'000'000'000ULL / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK))) + 12345};
}

TEST(ProcessStat, HasItsFieldsBehindTheName) {
    const auto stat = parse_process_stat(stat_line("python3", 777));
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->parent, 1);
    EXPECT_EQ(stat->user, 150U);
    EXPECT_EQ(stat->system, 50U);
    EXPECT_EQ(stat->threads, 7U);
    EXPECT_EQ(stat->start, 777U);
    EXPECT_EQ(stat->virtual_size, 8192000U);
}

TEST(ProcessStat, IsNotFooledByTheName) {
    for (const char* comm : {") S 1 2 3 4 5", "a b c", "((", "))", "", "x) R 1 (y", "a\nb"})
        EXPECT_EQ(parse_process_stat(stat_line(comm, 777))->start, 777U) << comm;
}

TEST(ProcessStat, IsRefusedIfTruncated) {
    EXPECT_FALSE(parse_process_stat(""));
    EXPECT_FALSE(parse_process_stat("42 (a"));
    EXPECT_FALSE(parse_process_stat("42 (a) S 1 42"));
    EXPECT_FALSE(parse_process_stat("42 (a)"));
}

TEST(Process, IsEndingFromItsExitUntilItsMemoryIsFreed) {
    const auto is_ending_with = [](const std::string& state, const std::string& flags, const std::string& threads) {
        const std::string stat =
            "42 (a) " + state + " 1 42 42 0 -1 " + flags + " 0 0 0 0 150 50 0 0 20 0 " + threads + " 0 777 8192000 1";
        return is_ending(FakeTree{{"proc/42/stat", stat}}.root(), started_at(42, 777));
    };
    EXPECT_TRUE(is_ending_with("R", "4194564", "1"));  // 0x400104
    EXPECT_TRUE(is_ending_with("Z", "4194564", "2")) << "its first thread has exited, but not its last one";
    EXPECT_FALSE(is_ending_with("Z", "4194564", "1"));
    EXPECT_FALSE(is_ending_with("X", "4194564", "1"));
    EXPECT_FALSE(is_ending_with("S", "4194560", "1")) << "it is somewhere else now";
    EXPECT_FALSE(is_ending(FakeTree{}.root(), started_at(42, 777)));
}

TEST(Details, BelongToTheProcessWithThatStartTime) {
    FakeTree tree{{"proc/42/stat", stat_line("a (b", 777)},
                  {"proc/42/cmdline", nul("python|train.py||--x|")},
                  {"proc/42/environ", nul("HOME=/|RANK=3|")}};
    for (const std::uint64_t near : {776U, 777U, 778U}) EXPECT_TRUE(read_details(tree.root(), started_at(42, near)));
    for (const std::uint64_t other : {0U, 775U, 779U}) EXPECT_FALSE(read_details(tree.root(), started_at(42, other)));
    const auto details = read_details(tree.root(), started_at(42, 777));
    EXPECT_THAT(details->argv, ElementsAre("python", "train.py", "", "--x"));
    EXPECT_EQ(details->rank, 3);
    EXPECT_FALSE(read_details(tree.root(), started_at(43, 777)));
}

TEST(Details, HaveNoRankWhereTheEnvironmentCannotBeRead) {
    FakeTree tree{{"proc/42/stat", stat_line("a", 777)}, {"proc/42/cmdline", ""}};
    const auto details = read_details(tree.root(), started_at(42, 777));
    ASSERT_TRUE(details);
    EXPECT_THAT(details->argv, IsEmpty());
    EXPECT_FALSE(details->rank);
}

TEST(Details, ReadABoundedPartOfTheEnvironment) {
    std::string environ = nul("RANK=1") + std::string(1 << 20, 'x');
    FakeTree tree{{"proc/42/stat", stat_line("a", 777)}, {"proc/42/cmdline", ""}, {"proc/42/environ", environ}};
    EXPECT_FALSE(read_details(tree.root(), started_at(42, 777))->rank) << "one endless variable";
    // The size limit cuts the number off.
    environ = nul("PAD=") + std::string((256 << 10) - 12, 'x') + nul("|RANK=123|");
    tree.write("proc/42/environ", environ);
    EXPECT_FALSE(read_details(tree.root(), started_at(42, 777))->rank) << "half a number is another number";
    tree.write("proc/42/environ", nul("RANK=123|") + environ);
    EXPECT_EQ(read_details(tree.root(), started_at(42, 777))->rank, 123);
}

TEST(Details, OfThisProcessAreItsOwn) {
    const auto text = read_file("/proc/self/stat");
    const auto stat = parse_process_stat(*text);
    ASSERT_TRUE(stat);
    const auto details = read_details({}, started_at(::getpid(), stat->start));
    ASSERT_TRUE(details);
    ASSERT_FALSE(details->argv.empty());
    EXPECT_THAT(details->argv[0], testing::HasSubstr("unit_sources"));
}

TEST(Argv, IsBounded) {
    EXPECT_THAT(parse_argv(""), IsEmpty());
    EXPECT_THAT(parse_argv(nul("||||")), IsEmpty());
    EXPECT_THAT(parse_argv(nul("a|b")), ElementsAre("a", "b")) << "a rewritten title may have no last NUL";
    EXPECT_THAT(parse_argv(nul("title|||||||")), ElementsAre("title"));
    EXPECT_THAT(parse_argv(nul("a\xff|b\n|")), ElementsAre("a\xff", "b\n")) << "any bytes";
    std::string many;
    for (int i = 0; i < 1000; ++i) many += nul("x|");
    EXPECT_EQ(parse_argv(many).size(), 64U);
    EXPECT_EQ(parse_argv(std::string(100000, 'x'))[0].size(), 4096U);
}

TEST(Rank, ComesFromTheFirstVariableThatHasANumber) {
    EXPECT_EQ(parse_rank(nul("SLURM_PROCID=7|LOCAL_RANK=2|RANK=10|")), 10);
    EXPECT_EQ(parse_rank(nul("SLURM_PROCID=7|LOCAL_RANK=2|")), 2);
    EXPECT_EQ(parse_rank(nul("SLURM_PROCID=7")), 7);
    EXPECT_EQ(parse_rank(nul("RANK=abc|LOCAL_RANK=2")), 2);
    EXPECT_EQ(parse_rank(nul("RANK=0|")), 0);
    EXPECT_EQ(parse_rank(nul("RANK=999999|")), 999999);
}

TEST(Rank, IsAbsentWithoutAValidNumber) {
    for (const char* text : {"", "RANK", "RANK=", "RANK=abc", "RANK=-1", "RANK=1000000", "RANK= 1", "RANK=1x",
                             "XRANK=1", "RANKS=1", "WORLD_RANK=1", "RANK=99999999999999999999", "rank=1", "A=RANK=1"})
        EXPECT_FALSE(parse_rank(nul(text))) << text;
}

TEST(CpuTime, IncludesEndedChildren) {
    const FakeTree tree{{"proc/42/stat", stat_line("a", 777)},
                        {"proc/43/stat", "43 (b) S 1 43 43 0 -1 4194560 0 0 0 0 20 10 4 1 20 0 1 0 778 4096\n"}};
    const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    EXPECT_DOUBLE_EQ(cpu_time_of(tree.root(), {42, 43, 44}).count(), 235 / ticks) << "44 has ended";
}

}  // namespace procfs_test
}  // namespace memscope
