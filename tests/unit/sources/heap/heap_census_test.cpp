#include "sources/heap/heap_census.h"

#include <cerrno>
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "support/fake_tree.h"

namespace memscope {
namespace heap_census_test {

std::uint64_t sum_of(const HeapCensus& census) {
    std::uint64_t sum = 0;
    for (const Bytes part : census.parts) sum += part.n;
    return sum;
}

// A process may always read itself.
TEST(HeapCensus, ThePartsOfThisProcessAddUpToItsAnonymousMemory) {
    const auto census = take_heap_census({}, ::getpid(), HeapBudget{});
    ASSERT_TRUE(census) << census.error().message();
    EXPECT_EQ(census->process.pid, ::getpid());
    EXPECT_GT(census->process.start_ns, 0U);
    EXPECT_GT(census->time, 1.6e9);
    EXPECT_NEAR(static_cast<double>(sum_of(*census)), static_cast<double>(census->anon.n),
                0.03 * static_cast<double>(census->anon.n) + (1 << 20));
    EXPECT_GT(census->part(HeapPart::stacks).n, 0U);
    EXPECT_FALSE(census->python);
}

// AddressSanitizer and ThreadSanitizer have allocators of their own.
#if defined(__GLIBC__) && !defined(MEMSCOPE_SANITIZED)
// A child that has done `work` and waits: a census of this process itself would count its own memory.
class WaitingChild {
  public:
    template <class Work>
    explicit WaitingChild(Work work) {
        int ready[2];
        if (::pipe(ready) != 0) throw std::system_error(errno, std::generic_category());
        pid_ = ::fork();
        if (pid_ == 0) {
            work();
            [[maybe_unused]] const auto written = ::write(ready[1], "x", 1);
            for (;;) ::pause();
        }
        char byte = 0;
        [[maybe_unused]] const auto read = ::read(ready[0], &byte, 1);
        for (const int end : ready) ::close(end);
    }
    ~WaitingChild() {
        ::kill(pid_, SIGKILL);
        (void)::waitpid(pid_, nullptr, 0);
    }
    WaitingChild(const WaitingChild&) = delete;
    WaitingChild& operator=(const WaitingChild&) = delete;
    Result<HeapCensus> census() const { return take_heap_census({}, pid_, HeapBudget{}); }

  private:
    pid_t pid_ = 0;
};

TEST(HeapCensus, FreedBlocksAreFree) {
    constexpr std::size_t kBlocks = 3000, kBytes = 10000;
    std::vector<std::vector<char>> blocks(kBlocks);
    for (std::vector<char>& block : blocks) block.assign(kBytes, 'x');
    const WaitingChild with_all([] {});
    const WaitingChild with_half([&] {
        for (std::size_t i = 0; i < kBlocks; i += 2) std::vector<char>().swap(blocks[i]);
    });
    const auto before = with_all.census(), after = with_half.census();
    ASSERT_TRUE(before && after);
    EXPECT_EQ(after->allocator.name, AllocatorName::glibc);
    EXPECT_TRUE(after->allocator.version);
    EXPECT_GE(after->allocator.arenas.value_or(0), 1U);
    EXPECT_TRUE(after->incomplete.empty());
    constexpr std::size_t kFreed = kBlocks / 2 * kBytes;
    const auto moved = static_cast<double>(kFreed);
    const auto change = [&](HeapPart part) {
        return static_cast<double>(after->part(part).n) - static_cast<double>(before->part(part).n);
    };
    EXPECT_NEAR(change(HeapPart::malloc_free), moved, 0.02 * moved);
    EXPECT_NEAR(change(HeapPart::malloc_live), -moved, 0.02 * moved);
}
#endif

TEST(HeapCensus, AProcessThatDoesNotExistHasNone) {
    const auto census = take_heap_census({}, 4194303, HeapBudget{});  // beyond the usual pid_max
    ASSERT_FALSE(census);
    EXPECT_EQ(census.error().code, std::errc::no_such_process);
}

TEST(HeapCensus, AProcessThatExitsHasNone) {
    const FakeTree tree{{"proc/7/stat", "7 (job) Z 1 7 7 0 -1 4228100 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n"},
                        {"proc/7/maps", ""},
                        {"proc/7/status", "Name:\tjob\nState:\tZ (zombie)\n"}};
    const auto census = take_heap_census(tree.root(), 7, HeapBudget{});
    ASSERT_FALSE(census);
    EXPECT_EQ(census.error().code, std::errc::no_such_process);
}

TEST(HeapCensus, WithoutTimeItSaysThatItIsIncomplete) {
    const auto census = take_heap_census({}, ::getpid(), HeapBudget{.time = Seconds{0}});
    ASSERT_TRUE(census);
    EXPECT_TRUE(census->incomplete.contains(HeapGap::time_limit));
}

}  // namespace heap_census_test
}  // namespace memscope
