#include "sources/proc/pagemap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fake_tree.h"

namespace memscope {
namespace pagemap_test {

constexpr std::uint64_t kMiB = 1 << 20;
const Bytes kPage{static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};

// Resident memory without huge pages.
struct Memory {
    explicit Memory(std::uint64_t size, int flags = MAP_PRIVATE) : bytes(size) {
        void* made = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
        start = made == MAP_FAILED ? nullptr : static_cast<std::byte*>(made);
        ::madvise(start, size, MADV_NOHUGEPAGE);
        write(0, size);
    }
    ~Memory() { ::munmap(start, bytes); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    void write(std::uint64_t from, std::uint64_t to) const {
        for (std::uint64_t at = from; at < to; at += kPage.n) start[at] = std::byte{1};
    }
    std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(start); }

    std::uint64_t bytes;
    std::byte* start = nullptr;
};

// A forked process that has changed its inherited memory.
class Fork {
  public:
    template <class Does>
    explicit Fork(Does does) {
        int ends[2] = {};
        if (::pipe(ends) != 0) return;
        pid_ = ::fork();
        if (pid_ == 0) {
            does();
            if (::write(ends[1], "r", 1) == 1) ::pause();
            ::_exit(0);
        }
        char ready = 0;
        EXPECT_EQ(::read(ends[0], &ready, 1), 1);
        ::close(ends[0]);
        ::close(ends[1]);
    }
    ~Fork() { end(); }
    Fork(const Fork&) = delete;
    Fork& operator=(const Fork&) = delete;

    void end() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    Fd directory() const { return Fd{open_directory("/proc/" + std::to_string(pid_))->release()}; }

  private:
    pid_t pid_ = 0;
};

ProcessMaps only(const Memory& memory) {
    return {.ranges = {{.start = memory.address(), .end = memory.address() + memory.bytes, .readable = true}}};
}

double part(std::uint64_t some, std::uint64_t rest) {
    return static_cast<double>(some) / static_cast<double>(std::max<std::uint64_t>(some + rest, 1));
}

TEST(PageSample, MeasuresThePagesThatAForkedProcessHasCopied) {
    const Memory memory(64 * kMiB);
    const Fork worker([&] { memory.write(0, 16 * kMiB); });
    const auto sample = sample_pages(worker.directory(), only(memory), kPage, Seconds{10});
    ASSERT_TRUE(sample) << sample.error().message();
    EXPECT_EQ(sample->own_anon, 16 * kMiB / kPage.n);  // small enough to be sampled completely
    EXPECT_EQ(sample->shared_anon, 48 * kMiB / kPage.n);
    EXPECT_EQ(sample->own_mapped + sample->shared_mapped, 0U);
}

TEST(PageSample, OfALargeProcessIsSmallAndNearTheTruth) {
    const Memory memory(1200 * kMiB);
    const Fork worker([&] {
        for (std::uint64_t at = 0; at < memory.bytes; at += 8 * kMiB) memory.write(at, at + 3 * kMiB);
    });
    const auto sample = sample_pages(worker.directory(), only(memory), kPage, Seconds{60});
    ASSERT_TRUE(sample) << sample.error().message();
    const std::uint64_t seen = sample->own_anon + sample->shared_anon;
    EXPECT_LE(seen, SamplePlan::kMostPieces * SamplePlan::kPagesAPiece);
    EXPECT_GE(seen, SamplePlan::kMostPieces * SamplePlan::kPagesAPiece / 2);
    EXPECT_NEAR(part(sample->own_anon, sample->shared_anon), 3.0 / 8, 0.02);
}

TEST(PageSample, MemoryThatIsSharedOnPurposeIsNotAnonymous) {
    const Memory memory(4 * kMiB, MAP_SHARED);
    const Fork worker([&] { memory.write(0, memory.bytes); });
    const auto sample = sample_pages(worker.directory(), only(memory), kPage, Seconds{10});
    ASSERT_TRUE(sample) << sample.error().message();
    EXPECT_EQ(sample->own_anon + sample->shared_anon, 0U);
    EXPECT_EQ(sample->shared_mapped, 4 * kMiB / kPage.n);
}

TEST(PageSample, FailsIfTheTimeLimitEndsBeforeAFullPass) {
    const Memory memory(512 * kMiB);
    const Fork worker([] {});
    const auto sample = sample_pages(worker.directory(), only(memory), kPage, Seconds{-1});
    ASSERT_FALSE(sample);
    EXPECT_NE(sample.error().message().find("too many mappings"), std::string::npos);
}

TEST(PageSample, FailsForAnEndedProcess) {
    const Memory memory(kMiB);
    Fork worker([] {});
    const Fd directory = worker.directory();
    worker.end();
    EXPECT_FALSE(sample_pages(directory, only(memory), kPage, Seconds{10}));
    EXPECT_FALSE(read_page_sample(directory, Seconds{10}));
}

// Sanitizers map terabytes of readable memory, and a sample of all of it misses a few MiB.
#ifndef MEMSCOPE_SANITIZED
TEST(PageSample, OfAllThatIsMappedIsScaledToTheProcess) {
    const Memory memory(256 * kMiB);
    const Fork worker([&] { memory.write(0, 128 * kMiB); });
    const auto pages = read_page_sample(worker.directory(), Seconds{10});
    ASSERT_TRUE(pages) << pages.error().message();
    EXPECT_GE(pages->anonymous.n, 256 * kMiB);
    EXPECT_NEAR(static_cast<double>(pages->own_anon.n), 128.0 * kMiB, 20.0 * kMiB);
    EXPECT_FALSE(pages->pss);
}
#endif

TEST(SamplePlan, ReadsTheSamePlacesWhileAProcessGrowsALittle) {
    const auto plan_for = [](std::uint64_t size) {
        return SamplePlan::of({.ranges = {{.start = 0, .end = size, .readable = true}}}, {4096});
    };
    EXPECT_EQ(plan_for(5000 * kMiB).cell, plan_for(6000 * kMiB).cell);
    EXPECT_EQ(plan_for(1).cell, 32U * 4096);
    EXPECT_LE((1ULL << 47) / plan_for(1ULL << 47).cell, SamplePlan::kMostPieces);
}

TEST(SamplePlan, PiecesLieInTheirCells) {
    const SamplePlan plan{.cell = 8 * kMiB, .page = 4096};
    for (std::uint64_t cell = 0; cell < 10'000; ++cell) {
        EXPECT_GE(plan.piece_in(cell), cell * plan.cell);
        EXPECT_LE(plan.piece_in(cell) + 32ULL * 4096, (cell + 1) * plan.cell);
    }
}

TEST(PageSample, IsScaledByTheSizesInStatm) {
    const PageSample sample{.own_anon = 30, .shared_anon = 10, .own_mapped = 1, .shared_mapped = 4};
    const auto pages = extrapolate(sample, "9000 1000 200 1 0 700 0\n", {4096});
    ASSERT_TRUE(pages);
    EXPECT_EQ(pages->resident.n, 1000U * 4096);
    EXPECT_EQ(pages->anonymous.n, 800U * 4096);
    EXPECT_EQ(pages->own_anon.n, 600U * 4096);
    EXPECT_EQ(pages->own_mapped.n, 40U * 4096);
    EXPECT_EQ(extrapolate({}, "9000 1000 200", {4096})->own_anon.n, 0U);
    for (const char* nonsense : {"", "1 2", "1 x 2", "1 2 -3", "1 18446744073709551615 0", "1 0 99999999999999999999"})
        EXPECT_FALSE(extrapolate(sample, nonsense, {4096})) << nonsense;
}

}  // namespace pagemap_test
}  // namespace memscope
