#include "sources/heap/glibc_tcache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_heap.h"
#include "support/fake_threads.h"

namespace memscope {
namespace glibc_tcache_test {

constexpr Seconds kLong{60};
constexpr std::uint64_t kCacheChunk = 0x290, kHeads = 128;

// A process with threads whose caches have some lists of chunks. Each list has the same number of chunks.
class CachingProcess {
  public:
    struct Size {
        std::size_t threads = 3;
        std::uint64_t lists = 1;   // of 64 bytes and more
        std::size_t chunks = 4;    // in each list
        std::uint64_t apart = 64;  // bytes of a used chunk after each of them
    };
    explicit CachingProcess(FakeThreadLayout layout) : CachingProcess(layout, Size{}) {}
    CachingProcess(FakeThreadLayout layout, Size size) : size_(size), threads(glibc.pages, layout) {
        for (std::size_t i = 0; i < size.threads; ++i) {
            caches.push_back(glibc.add(kCacheChunk, FakeUse::used));
            for (std::size_t j = 0; j < size.lists * size.chunks; ++j) {
                chunks.push_back(glibc.add(bytes_in_list(j / size.chunks), FakeUse::used));
                glibc.add(size.apart, FakeUse::used);
            }
        }
        glibc.finish();
        for (std::size_t i = 0; i < size.threads; ++i) {
            threads.add(static_cast<std::int32_t>(100 + i));
            threads.set_tcache(i, caches[i] + 16);
            for (std::uint64_t bin = 0; bin < 64; ++bin) glibc.pages.put(head(i, bin), 0);
            for (std::uint64_t list = 0; list < size.lists; ++list) {
                glibc.pages.put(head(i, kFirstBin + list), entry(i, list, 0));
                for (std::size_t j = 0; j < size.chunks; ++j)
                    link(i, list, j, j + 1 < size.chunks ? entry(i, list, j + 1) : 0);
            }
        }
    }

    TcacheChunks find(Seconds time = kLong) {
        const LibraryData data = threads.finish();
        const PresentPages present = glibc.pages.present();
        PresentMemory memory(glibc.pages, present);
        const auto malloc = find_glibc_malloc(read_library_data(memory, glibc.maps, "/lib/libc.so.6"),
                                              GlibcVersion{2, 36}, memory, glibc.maps, ReadDeadline(kLong));
        const auto found = find_threads({&data, 1}, memory, ReadDeadline(kLong));
        EXPECT_TRUE(malloc);
        EXPECT_EQ(found.all.size(), size_.threads);
        if (!malloc) return {};
        memory.forget();
        glibc.pages.calls = 0;
        return find_tcaches(*malloc, found.all, memory, ReadDeadline(time));
    }

    std::uint64_t chunk(std::size_t thread, std::uint64_t list, std::size_t number) const {
        return chunks[(thread * size_.lists + list) * size_.chunks + number];
    }
    std::uint64_t entry(std::size_t thread, std::uint64_t list, std::size_t number) const {
        return chunk(thread, list, number) + 16;
    }
    void link(std::size_t thread, std::uint64_t list, std::size_t number, std::uint64_t next) {
        const std::uint64_t place = entry(thread, list, number);
        glibc.pages.put(place, next ^ (place >> 12));
    }
    std::uint64_t head(std::size_t thread, std::uint64_t bin) const { return caches[thread] + 16 + kHeads + bin * 8; }

  private:
    static constexpr std::uint64_t kFirstBin = 2;
    static std::uint64_t bytes_in_list(std::uint64_t list) { return (kFirstBin + list + 2) * 16; }
    Size size_;

  public:
    FakeGlibc glibc{};
    FakeThreads threads;
    std::vector<std::uint64_t> caches{}, chunks{};
};

void expect_complete(const TcacheChunks& found) {
    EXPECT_EQ(found.torn, 0U);
    EXPECT_EQ(found.absent, 0U);
    EXPECT_EQ(found.cut_off, 0U);
    EXPECT_FALSE(found.late);
}

class TcacheOfEachLayout : public testing::TestWithParam<FakeThreadLayout> {};
INSTANTIATE_TEST_SUITE_P(Architectures, TcacheOfEachLayout, testing::Values(kThreadOnX86, kThreadOnArm),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_P(TcacheOfEachLayout, ChunksInTheCachesOfThreadsAreFound) {
    CachingProcess process(GetParam());
    const TcacheChunks found = process.find();
    EXPECT_EQ(found.caches, 3U);
    EXPECT_EQ(found.bytes, 12U * 64);
    EXPECT_EQ(found.chunks, process.chunks);
    expect_complete(found);
}

TEST_P(TcacheOfEachLayout, CachesAreFoundBehindALargeTlsOfTheProgram) {
    constexpr std::int64_t kTlsOfProgram = 200 << 10;
    FakeThreadLayout layout = GetParam();
    if (layout.tcache < 0) {
        layout.tcache -= kTlsOfProgram;
    } else {
        layout.tcache += kTlsOfProgram;
        layout.to_end += kTlsOfProgram;
    }
    CachingProcess process(layout);
    process.glibc.pages.put(process.threads.nodes[0] - 0x1000, process.caches[0] + 16);  // left on a stack
    const TcacheChunks found = process.find();
    EXPECT_EQ(found.caches, 3U);
    EXPECT_EQ(found.chunks, process.chunks);
    expect_complete(found);
}

TEST(Tcache, AThreadWithoutACacheDoesNotHideThoseOfOthers) {
    CachingProcess process(kThreadOnX86);
    process.threads.set_tcache(0, 0);
    const TcacheChunks found = process.find();
    EXPECT_EQ(found.caches, 2U);
    expect_complete(found);
}

TEST(Tcache, AnEmptyCacheIsNotTorn) {
    CachingProcess process(kThreadOnX86);
    process.glibc.pages.put(process.head(1, 2), 0);
    const TcacheChunks found = process.find();
    EXPECT_EQ(found.caches, 2U);
    EXPECT_EQ(found.chunks.size(), 8U);
    expect_complete(found);
}

TEST(Tcache, WithoutTimeTheAnswerSaysSo) {
    CachingProcess process(kThreadOnArm);
    const TcacheChunks found = process.find(Seconds{0});
    EXPECT_TRUE(found.chunks.empty());
    EXPECT_TRUE(found.late);
}

TEST(Tcache, ACacheWhoseHeadsDoNotFitIsCountedAsTorn) {
    CachingProcess process(kThreadOnX86);
    process.glibc.pages.put(process.head(1, 7), process.entry(1, 0, 0));  // a chunk of another size
    const TcacheChunks found = process.find();
    EXPECT_EQ(found.caches, 2U);
    EXPECT_EQ(found.torn, 1U);
}

TEST(Tcache, AListThatLeadsOutOfItsBinIsCountedAsTorn) {
    CachingProcess process(kThreadOnX86);
    process.link(1, 0, 2, process.caches[0] + 16);
    const TcacheChunks found = process.find();
    EXPECT_EQ(found.chunks.size(), 11U);
    EXPECT_EQ(found.torn, 1U);
}

TEST(Tcache, AListThatLeadsBackToItsFirstChunkEnds) {
    CachingProcess process(kThreadOnX86);
    process.link(0, 0, 3, process.entry(0, 0, 0));
    const TcacheChunks found = process.find();
    EXPECT_EQ(found.chunks, process.chunks);
    EXPECT_EQ(found.torn, 1U);
}

TEST(Tcache, AListThatIsLongerThanMallocMakesItIsCutOff) {
    CachingProcess process(kThreadOnX86, {.chunks = 17});
    const TcacheChunks found = process.find();
    EXPECT_EQ(found.chunks.size(), 3U * 16);
    EXPECT_EQ(found.cut_off, 3U);
}

TEST(Tcache, AChunkThatIsSwappedOutIsCountedAsNotPresent) {
    CachingProcess process(kThreadOnX86, {.apart = 8192});
    process.glibc.pages.drop(process.chunk(1, 0, 2));
    const TcacheChunks found = process.find();
    EXPECT_EQ(found.caches, 3U);
    EXPECT_EQ(found.chunks.size(), 10U) << "two chunks of the second thread come before it";
    EXPECT_EQ(found.absent, 1U);
}

TEST(Tcache, AThreadWhoseTlsIsSwappedOutIsCountedAsNotPresent) {
    FakeThreadLayout layout = kThreadOnX86;
    layout.tcache = -0x2000;  // on another page than the node
    CachingProcess process(layout);
    process.glibc.pages.drop(process.threads.tcache_word(1));
    const TcacheChunks found = process.find();
    EXPECT_EQ(found.caches, 2U);
    EXPECT_EQ(found.absent, 1U);
}

// A system call takes microseconds, and 100 us in an emulated machine.
TEST(Tcache, ListsOfAllThreadsAreReadTogether) {
    CachingProcess process(kThreadOnX86, {.threads = 20, .lists = 40, .chunks = 7, .apart = 4096});
    const TcacheChunks found = process.find();
    EXPECT_EQ(found.chunks.size(), 20U * 40 * 7);
    expect_complete(found);
    EXPECT_LT(process.glibc.pages.calls, 500U) << "5,600 chunks, each on its own page";
}

}  // namespace glibc_tcache_test
}  // namespace memscope
