#include "sources/heap/thread_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sources/heap/glibc_tcache.h"
#include "support/fake_heap.h"

namespace memscope {
namespace {

constexpr Seconds kLong{60};
constexpr std::uint64_t kLoader = 0x7f10'0000'0000;
constexpr std::uint64_t kHead = kLoader + 0x100;
constexpr std::uint64_t kStacks = 0x7c00'0000'0000;
constexpr std::uint64_t kStackBytes = 0x100000;

// The list of threads in the data of ld.so.
struct FakeThreads {
    explicit FakeThreads(FakePages& memory) : pages(memory) {}
    std::uint64_t add(std::int32_t tid) {
        const std::uint64_t stack = kStacks + nodes.size() * kStackBytes, node = stack + kStackBytes - 0x800;
        pages.touch({node - 0x4000, stack + kStackBytes});
        pages.put(node + 16, static_cast<std::uint32_t>(tid));
        pages.put(node + 0x300, stack);
        pages.put(node + 0x308, kStackBytes);
        nodes.push_back(node);
        return node;
    }
    LibraryData finish() {
        LibraryData data{.base = kLoader, .words = std::vector<std::uint64_t>(512)};
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            pages.put(nodes[i], i + 1 < nodes.size() ? nodes[i + 1] : kHead);
            pages.put(nodes[i] + 8, i == 0 ? kHead : nodes[i - 1]);
        }
        data.words[(kHead - kLoader) / 8] = nodes.front();
        data.words[(kHead - kLoader) / 8 + 1] = nodes.back();
        return data;
    }
    FakePages& pages;
    std::vector<std::uint64_t> nodes{};
};

TEST(ThreadStacks, ThreadsAndTheirStacksAreFound) {
    FakePages pages;
    FakeThreads threads(pages);
    for (const std::int32_t tid : {100, 101, 0}) threads.add(tid);
    const LibraryData data = threads.finish();
    const PresentPages present = pages.present();
    PresentMemory memory(pages, present);
    const auto found = find_threads({&data, 1}, memory, ReadDeadline(kLong));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].tid, 100);
    EXPECT_EQ(found[1].stack, (HeapRange{kStacks + kStackBytes, kStacks + 2 * kStackBytes}));
}

TEST(ThreadStacks, AListThatDoesNotReturnToItsHeadIsRefused) {
    FakePages pages;
    FakeThreads threads(pages);
    for (const std::int32_t tid : {100, 101}) threads.add(tid);
    const LibraryData data = threads.finish();
    pages.put(threads.nodes[1], threads.nodes[0]);
    const PresentPages present = pages.present();
    PresentMemory memory(pages, present);
    EXPECT_TRUE(find_threads({&data, 1}, memory, ReadDeadline(kLong)).empty());
}

TEST(Tcache, ChunksInTheCachesOfThreadsAreFound) {
    FakeGlibc glibc;
    std::vector<std::uint64_t> caches, chunks;
    for (int i = 0; i < 3; ++i) {
        caches.push_back(glibc.add(0x290, FakeUse::used));
        for (int j = 0; j < 4; ++j) chunks.push_back(glibc.add(64, FakeUse::used));
    }
    glibc.finish();
    FakeThreads threads(glibc.pages);
    for (const std::int32_t tid : {100, 101, 102}) threads.add(tid);
    for (std::size_t i = 0; i < 3; ++i) {
        glibc.pages.put(threads.nodes[i] - 0x240, caches[i] + 16);
        glibc.pages.put(caches[i] + 16 + 128 + 16, chunks[4 * i] + 16);  // bin of 64 bytes
        for (std::size_t j = 0; j < 4; ++j) {
            const std::uint64_t place = chunks[4 * i + j] + 16;
            glibc.pages.put(place, (j < 3 ? chunks[4 * i + j + 1] + 16 : 0) ^ (place >> 12));
        }
        for (std::uint64_t bin = 0; bin < 64; ++bin)
            if (bin != 2) glibc.pages.put(caches[i] + 16 + 128 + bin * 8, 0);
    }
    const LibraryData data = threads.finish();
    const PresentPages present = glibc.pages.present();
    PresentMemory memory(glibc.pages, present);
    const auto malloc = find_glibc_malloc(read_library_data(memory, glibc.maps, "/lib/libc.so.6"), GlibcVersion{2, 36},
                                          memory, glibc.maps, ReadDeadline(kLong));
    ASSERT_TRUE(malloc);
    const auto found_threads = find_threads({&data, 1}, memory, ReadDeadline(kLong));
    const TcacheChunks found = find_tcaches(*malloc, found_threads, memory, ReadDeadline(kLong));
    EXPECT_EQ(found.caches, 3U);
    EXPECT_EQ(found.bytes, 12U * 64);
    EXPECT_EQ(found.chunks, chunks);

    // A list that leads back to its first chunk.
    const std::uint64_t last = chunks[3] + 16;
    glibc.pages.put(last, (chunks[0] + 16) ^ (last >> 12));
    memory.forget();
    EXPECT_EQ(find_tcaches(*malloc, found_threads, memory, ReadDeadline(kLong)).chunks.size(), 12U);
}

}  // namespace
}  // namespace memscope
