#include "sources/heap/glibc_walk.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <malloc.h>
#include <map>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "glibc_reading.h"
#include "sources/heap/allocators.h"
#include "sources/heap/thread_stacks.h"
#include "support/fake_heap.h"

namespace memscope {
namespace glibc_walk_test {

using namespace glibc_reading;

HeapBlocks blocks_of(Seen& seen, std::size_t most = 1 << 20) {
    const auto glibc = seen.find();
    return find_heap_blocks(*glibc, seen.tcaches, seen.process.pages, seen.pages, {.deadline = ReadDeadline(kLong)},
                            most);
}

class EachGlibcWalk : public testing::TestWithParam<FakeGlibcLayout> {};
INSTANTIATE_TEST_SUITE_P(Versions, EachGlibcWalk, testing::ValuesIn(kFakeLayouts),
                         [](const auto& each) { return "glibc_2_" + std::to_string(each.param.version.minor); });

TEST_P(EachGlibcWalk, ItFindsTheUsedChunksOfAllArenas) {
    FakeGlibc glibc(GetParam());
    fill(glibc, 0, 500);
    fill(glibc, glibc.add_arena(), 500);
    fill(glibc, glibc.add_arena(), 500);
    glibc.finish();
    Seen seen(glibc);
    const HeapBlocks blocks = blocks_of(seen);
    EXPECT_EQ(blocks.walk.live_bytes, glibc.bytes(FakeUse::used));
    EXPECT_EQ(blocks.walk.free_bytes, glibc.bytes(FakeUse::in_bin));
    EXPECT_EQ(blocks.walk.live, blocks.all.size());
    EXPECT_EQ(blocks.walk.torn + blocks.walk.absent + blocks.walk.lost_bytes, 0U);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < blocks.all.size(); ++i) {
        sum += blocks.all[i].bytes();
        if (i > 0) ASSERT_GE(blocks.all[i].start, blocks.all[i - 1].end());
    }
    EXPECT_EQ(sum, blocks.walk.live_bytes);
}

class EachGlibcWalkWithFastbins : public EachGlibcWalk {};
INSTANTIATE_TEST_SUITE_P(Versions, EachGlibcWalkWithFastbins, testing::ValuesIn(kFakeLayouts, kFakeLayouts + 3),
                         [](const auto& each) { return "glibc_2_" + std::to_string(each.param.version.minor); });

TEST_P(EachGlibcWalkWithFastbins, ChunksOfFastbinsAndOfCachesAreFree) {
    FakeGlibc glibc(GetParam());
    std::vector<std::uint64_t> cached;
    for (int i = 0; i < 300; ++i) {
        glibc.add(64, FakeUse::used);
        glibc.add(32 + 16 * (i % 6), FakeUse::in_fastbin);
        cached.push_back(glibc.add(80, FakeUse::used));
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    Seen seen(glibc);
    seen.tcaches.chunks = cached;
    const HeapBlocks blocks = blocks_of(seen);
    EXPECT_EQ(blocks.walk.live, 301U);
    EXPECT_EQ(blocks.walk.cached, 600U);
    EXPECT_EQ(blocks.walk.free_bytes, glibc.bytes(FakeUse::in_fastbin) + 300 * 80);
    EXPECT_EQ(blocks.walk.fast_torn, 0U);
}

TEST(GlibcWalk, TheContentOfAChunkEndsWithTheFirstWordOfTheNext) {
    FakeGlibc glibc;
    const std::uint64_t first = glibc.add(48, FakeUse::used);
    glibc.add(8192, FakeUse::used);
    glibc.finish();
    glibc.pages.put(first + 48, 0x4242);
    Seen seen(glibc);
    const auto found = seen.find();
    std::vector<WalkedChunk> chunks;
    std::vector<std::uint64_t> last_words;
    walk_glibc(*found, {}, glibc.pages, seen.pages, {.deadline = ReadDeadline(kLong)}, [&](const WalkedChunk& chunk) {
        chunks.push_back(chunk);
        std::uint64_t word = 0;
        if (!chunk.content.empty()) std::memcpy(&word, chunk.content.data() + chunk.content.size() - 8, sizeof word);
        last_words.push_back(word);
    });
    ASSERT_EQ(chunks.size(), 2U);
    EXPECT_EQ(chunks[0].content.size(), 40U);
    EXPECT_EQ(last_words[0], 0x4242U);
    EXPECT_TRUE(chunks[1].content.empty()) << "large chunks are not read";
}

TEST(GlibcWalk, ItContinuesBehindAChunkThatMakesNoSense) {
    FakeGlibc glibc;
    std::vector<std::uint64_t> used;
    for (int i = 0; i < 400; ++i) {
        used.push_back(glibc.add(1024, FakeUse::used));
        glibc.add(1040, FakeUse::in_bin);
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    glibc.pages.put(used[200] + 8, 0x7777'7770);
    Seen seen(glibc);
    const HeapBlocks blocks = blocks_of(seen);
    EXPECT_EQ(blocks.walk.torn, 1U);
    EXPECT_EQ(blocks.walk.absent, 0U);
    EXPECT_EQ(blocks.walk.live, 400U);
    EXPECT_EQ(blocks.walk.lost_bytes, 1024U);
}

TEST(GlibcWalk, AHeadThatIsNotPresentIsCountedAsAbsent) {
    FakeGlibc glibc;
    std::vector<std::uint64_t> used;
    for (int i = 0; i < 400; ++i) {
        used.push_back(glibc.add(1024, FakeUse::used));
        glibc.add(1040, FakeUse::in_bin);
    }
    glibc.add(64, FakeUse::used);
    glibc.finish();
    glibc.pages.drop(used[200]);
    Seen seen(glibc);
    const HeapBlocks blocks = blocks_of(seen);
    EXPECT_EQ(blocks.walk.absent, 1U);
    EXPECT_EQ(blocks.walk.torn, 0U);
    EXPECT_GE(blocks.walk.live, 396U);
    EXPECT_LE(blocks.walk.lost_bytes, 3U * 4096);
}

TEST(GlibcWalk, ChunksThatWereFreedIntoTheTopAreNoTear) {
    FakeGlibc glibc;
    std::vector<std::uint64_t> used;
    for (int i = 0; i < 100; ++i) used.push_back(glibc.add(64, FakeUse::used));
    glibc.finish();
    Seen seen(glibc);
    const auto found = seen.find();
    glibc.pages.put(used[90] + 8, (glibc.heap_end(0) - used[90]) | kChunkBeforeInUse);
    glibc.pages.put(glibc.bin_address(1) - 16, used[90]);
    const GlibcWalk walk =
        walk_glibc(*found, {}, glibc.pages, seen.pages, {.deadline = ReadDeadline(kLong)}, [](auto&) {});
    EXPECT_EQ(walk.live, 90U);
    EXPECT_EQ(walk.torn, 0U);
}

TEST(GlibcWalk, LimitsAreSaid) {
    FakeGlibc glibc;
    fill(glibc, 0, 10000);
    fill(glibc, glibc.add_arena(), 100);
    glibc.finish();
    Seen seen(glibc);
    EXPECT_EQ(blocks_of(seen, 100).all.size(), 100U);
    EXPECT_GT(blocks_of(seen, 100).left_out, 10000U);
    const auto found = seen.find();
    const auto walk = [&](Seconds time, std::uint64_t most) {
        return walk_glibc(*found, {}, glibc.pages, seen.pages, {.deadline = ReadDeadline(time), .most_chunks = most},
                          [](auto&) {});
    };
    EXPECT_TRUE(walk(Seconds{0}, 1 << 20).late);
    EXPECT_GT(walk(Seconds{0}, 1 << 20).skipped_bytes, 100U << 10);
    EXPECT_EQ(walk(kLong, 1000).live + walk(kLong, 1000).free, 1000U);
    EXPECT_TRUE(walk(kLong, 1000).cut_off);
    EXPECT_GT(walk(kLong, 1000).skipped_bytes, 100U << 10);
}

// AddressSanitizer and ThreadSanitizer have allocators of their own.
#if defined(__GLIBC__) && !defined(MEMSCOPE_SANITIZED)
constexpr std::size_t kThreads = 3, kEach = 20000;
struct KnownBlock {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool freed = false;
};
struct Known {  // what the child tells in shared memory
    KnownBlock blocks[kThreads + 1][kEach];
    std::uint64_t used = 0;  // as mallinfo2() says
    bool ready = false;
};

void allocate(std::span<KnownBlock> blocks, unsigned seed) {
    for (KnownBlock& block : blocks) {
        seed = seed * 1664525 + 1013904223;
        block.bytes = seed % 7 == 0 ? 1000 + seed % 30000 : 16 + seed % 500;
        void* made = std::malloc(block.bytes);
        std::memset(made, 0x5a, block.bytes);
        block.address = reinterpret_cast<std::uint64_t>(made);
    }
    for (std::size_t i = 0; i < blocks.size(); i += 3) {
        std::free(reinterpret_cast<void*>(blocks[i].address));
        blocks[i].freed = true;
    }
}

class KnownChild {
  public:
    KnownChild() {
        known_ = static_cast<Known*>(
            ::mmap(nullptr, sizeof(Known), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        int ready[2];
        if (known_ == MAP_FAILED || ::pipe(ready) != 0) throw std::system_error(errno, std::generic_category());
        pid_ = ::fork();
        if (pid_ == 0) {
            std::vector<std::thread> threads;
            for (std::size_t i = 0; i < kThreads; ++i)
                threads.emplace_back([this, i, &ready] {
                    allocate(known_->blocks[i], static_cast<unsigned>(i));
                    [[maybe_unused]] const auto written = ::write(ready[1], "x", 1);
                    for (;;) ::pause();  // an arena without a thread could be used by the next thread
                });
            allocate(known_->blocks[kThreads], 7);
            for (std::size_t i = 0; i < kThreads; ++i) {
                char byte = 0;
                [[maybe_unused]] const auto read = ::read(ready[0], &byte, 1);
            }
            known_->used = ::mallinfo2().uordblks;
            known_->ready = true;
            for (;;) ::pause();
        }
        for (const int end : ready) ::close(end);
        while (!const_cast<volatile Known*>(known_)->ready) ::usleep(1000);
    }
    ~KnownChild() {
        ::kill(pid_, SIGKILL);
        (void)::waitpid(pid_, nullptr, 0);
        ::munmap(known_, sizeof(Known));
    }
    KnownChild(const KnownChild&) = delete;
    KnownChild& operator=(const KnownChild&) = delete;

    pid_t pid() const { return pid_; }
    const Known& known() const { return *known_; }

  private:
    Known* known_ = nullptr;
    pid_t pid_ = 0;
};

TEST(GlibcWalk, ItAgreesWithWhatAProcessKnows) {
    const KnownChild child;
    const Fd process = *open_directory("/proc/" + std::to_string(child.pid()));
    const ProcessMaps maps = *read_process_maps(process);
    Pace pace;
    const ReadDeadline deadline(kLong);
    const PresentPages pages = read_present_pages(process, maps, 1 << 20, pace, deadline)->pages;
    auto source = ProcessSource::open(process, child.pid(), pace);
    ASSERT_TRUE(source);
    PresentMemory memory(*source, pages);
    const auto libc = read_library_data(memory, maps, c_library_paths(maps).front());
    const auto glibc = find_glibc_malloc(libc, std::nullopt, memory, maps, deadline);
    ASSERT_TRUE(glibc);
    std::vector<LibraryData> libraries;
    for (const std::string& path : thread_library_paths(maps))
        for (LibraryData& each : read_library_data(memory, maps, path)) libraries.push_back(std::move(each));
    const auto threads = find_threads(libraries, memory, deadline).all;
    const TcacheChunks tcaches = find_tcaches(*glibc, threads, memory, deadline);
    const HeapBlocks blocks = find_heap_blocks(*glibc, tcaches, *source, pages, {.deadline = deadline}, 1 << 24);
    EXPECT_EQ(blocks.walk.torn + blocks.walk.absent + blocks.walk.fast_torn, 0U);

    std::map<std::uint64_t, std::uint64_t> found;
    for (const HeapBlock& block : blocks.all) found[block.start + 16] = block.bytes();
    std::size_t wrong = 0, freed = 0, live = 0;
    for (const auto& of_thread : child.known().blocks)
        for (const KnownBlock& block : of_thread) {
            const auto at = found.find(block.address);
            if (block.freed) {
                freed += at != found.end() ? 1 : 0;
                continue;
            }
            ++live;
            if (at == found.end() || at->second < block.bytes + 8 || at->second > block.bytes + 40) ++wrong;
        }
    EXPECT_GT(live, 50000U);
    EXPECT_EQ(wrong, 0U);
    EXPECT_LE(freed, live / 1000) << "only blocks that were allocated again";
    // mallinfo2() counts the caches of threads and the heads of arenas as used.
    EXPECT_NEAR(static_cast<double>(blocks.walk.live_bytes + tcaches.bytes), static_cast<double>(child.known().used),
                65536);
}
#endif

}  // namespace glibc_walk_test
}  // namespace memscope
