#include "analysis/heap/heap_sentence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace heap_sentence_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
Bytes mib(std::uint64_t n) { return {n * kMiB}; }

HeapCensus glibc_census(std::uint64_t malloc_live, std::uint64_t malloc_free, std::uint64_t trimmable,
                        std::uint64_t arenas = 1) {
    HeapCensus made;
    made.part(HeapPart::malloc_live) = Bytes{malloc_live * kMiB};
    made.part(HeapPart::malloc_free) = Bytes{malloc_free * kMiB};
    made.anon = Bytes{(malloc_live + malloc_free) * kMiB};
    made.allocator = {
        .name = AllocatorName::glibc, .version = "2.36", .arenas = arenas, .trimmable = Bytes{trimmable * kMiB}};
    return made;
}

ProcessHeap trainer(double time, std::uint64_t malloc_free, std::uint64_t malloc_live) {
    ProcessHeap heap{.role = {Role::trainer},
                     .census = glibc_census(malloc_live, malloc_free, malloc_free * 9 / 10, 64)};
    heap.census.process = {1, 1};
    heap.census.time = time;
    return heap;
}

TEST(HeapSentence, FreedMemoryThatTrimReturnsIsNotALeak) {
    EXPECT_EQ(heap_sentence(glibc_census(205, 1843, 1820)),
              "1.8 of 2.0 GiB are free inside glibc (1 arena): not a leak. malloc_trim(0) would give back 1.8 GiB now. "
              "jemalloc usually prevents this.");
}

TEST(HeapSentence, ManyArenasCanBeLimited) {
    EXPECT_THAT(heap_sentence(glibc_census(100, 900, 800, 64)),
                HasSubstr("MALLOC_ARENA_MAX=2 or jemalloc usually prevents this."));
}

TEST(HeapSentence, FreedMemoryInPiecesStays) {
    const std::string text = heap_sentence(glibc_census(128, 98, 0));
    EXPECT_THAT(text, HasSubstr("98 of 226 MiB are free inside glibc, but in pieces between live blocks: "
                                "malloc_trim(0) would give back only 0 B."));
    EXPECT_THAT(text, Not(HasSubstr("not a leak")));
}

TEST(HeapSentence, FreedMemoryThatTrimMostlyReturnsIsNotInPieces) {
    const HeapCensus made = glibc_census(88, 12, 8);  // less than a tenth of all, more than half of the free part
    EXPECT_THAT(heap_sentence(made), HasSubstr("12 of 100 MiB are free inside glibc (1 arena): not a leak. "
                                               "malloc_trim(0) would give back 8.0 MiB now."));
    EXPECT_THAT(free_memory_sentence(made, HeapPart::malloc_free, {}), HasSubstr("would give back 8.0 MiB"));
}

TEST(HeapSentence, TrimDoesNotReachPython) {
    HeapCensus made = glibc_census(50, 0, 0);
    made.part(HeapPart::python_free) = Bytes{744 * kMiB};
    made.part(HeapPart::python_live) = Bytes{63 * kMiB};
    made.anon = Bytes{857 * kMiB};
    const std::string text = heap_sentence(made);
    EXPECT_THAT(text, HasSubstr("744 of 857 MiB are free inside Python's allocator"));
    EXPECT_THAT(text, HasSubstr("malloc_trim(0) does not reach them"));
}

TEST(HeapSentence, LiveBlocksAreHeldBySomething) {
    EXPECT_EQ(heap_sentence(glibc_census(1024, 2, 1)),
              "1.0 of 1.0 GiB are live blocks: something holds them. "
              "malloc_trim(0) would give back only 1.0 MiB.");
    HeapCensus made = glibc_census(10, 0, 0);
    made.part(HeapPart::python_live) = Bytes{500 * kMiB};
    made.anon = Bytes{510 * kMiB};
    EXPECT_EQ(heap_sentence(made), "500 of 510 MiB are live small Python objects: something holds them.");
}

TEST(HeapSentence, TrimIsMentionedOnce) {
    EXPECT_EQ(
        heap_sentence(glibc_census(600, 400, 300)),
        "400 of 1000 MiB are free inside glibc (1 arena): not a leak. malloc_trim(0) would give back 300 MiB now. "
        "jemalloc usually prevents this. 600 of 1000 MiB are live blocks: something holds them.");
}

TEST(HeapSentence, DoesNotDescribeMemoryInsideAnotherAllocator) {
    HeapCensus made;
    made.allocator.name = AllocatorName::jemalloc;
    made.part(HeapPart::mapped) = Bytes{900 * kMiB};
    made.anon = Bytes{1000 * kMiB};
    EXPECT_EQ(heap_sentence(made),
              "malloc is served by jemalloc: how much is free inside it cannot be read from outside. "
              "Up to 900 of 1000 MiB are its memory.");
}

TEST(HeapSentence, MappingsOfNoAllocatorAndSwapAreNamed) {
    HeapCensus made = glibc_census(100, 0, 0);
    made.part(HeapPart::mapped) = Bytes{400 * kMiB};
    made.anon = Bytes{500 * kMiB};
    made.swap = Bytes{30 * kMiB};
    EXPECT_EQ(heap_sentence(made),
              "400 of 500 MiB are large mappings that belong to no known allocator. 30 MiB more are "
              "swapped out and not included here.");
}

TEST(HeapSentence, AnEmptyCensusHasASentence) {
    EXPECT_EQ(heap_sentence({}),
              "0 B of anonymous memory, of which 0 B are live blocks and 0 B are free inside allocators.");
}

TEST(FreeMemorySentence, NamesArenasThreadsAndWhatCanBeGivenBack) {
    HeapCensus census{.anon = mib(62 << 10)};
    census.part(HeapPart::malloc_free) = mib(41 << 10);
    census.allocator = {.name = AllocatorName::glibc, .arenas = 64, .trimmable = mib(38 << 10)};
    EXPECT_EQ(free_memory_sentence(census, HeapPart::malloc_free, 65),
              "41 GiB of 62 GiB are free inside malloc, where 64 arenas keep what 65 threads freed. This is not a leak "
              "of your objects: MALLOC_ARENA_MAX=2 or jemalloc keeps less, and malloc_trim(0) after each validation "
              "would give back 38 GiB");
}

TEST(FreeMemorySentence, DoesNotPromiseWhatMallocTrimCannotGive) {
    HeapCensus census{.anon = mib(226)};
    census.part(HeapPart::malloc_free) = mib(98);
    census.allocator = {.name = AllocatorName::glibc, .arenas = 1, .trimmable = Bytes{132 << 10}};
    EXPECT_THAT(free_memory_sentence(census, HeapPart::malloc_free, {}),
                AllOf(HasSubstr("give back only 132 KiB"), HasSubstr("live blocks lie between"),
                      Not(HasSubstr("MALLOC_ARENA_MAX"))));
    census.allocator.trimmable.reset();
    EXPECT_THAT(free_memory_sentence(census, HeapPart::malloc_free, {}), Not(HasSubstr("malloc_trim")));
}

TEST(FreeMemorySentence, OfPythonSaysThatMallocTrimDoesNotHelp) {
    HeapCensus census{.anon = mib(857)};
    census.part(HeapPart::python_free) = mib(744);
    EXPECT_THAT(free_memory_sentence(census, HeapPart::python_free, {}),
                AllOf(HasSubstr("744 MiB of 857 MiB are free inside Python's allocator"),
                      HasSubstr("malloc_trim(0) does not return it")));
}

TEST(FreeMemorySentence, APrecursorMentionsFreeMemoryIfItIsMuchAndTheCensusIsRecent) {
    TargetSnapshot target;
    target.heap = {trainer(1000, 600, 400)};
    EXPECT_THAT(much_free_memory_sentence(target, mib(1100), 1100),
                HasSubstr("600 MiB of 1000 MiB are free inside malloc"));
    EXPECT_EQ(much_free_memory_sentence(target, mib(4000), 1100), "") << "most of the memory is elsewhere";
    EXPECT_EQ(much_free_memory_sentence(target, mib(1100), 1000 + 1801), "");
    target.heap = {trainer(1000, 400, 600)};
    EXPECT_EQ(much_free_memory_sentence(target, mib(1100), 1100), "") << "more is live";
    target.heap = {trainer(1000, 60, 940)};
    EXPECT_EQ(much_free_memory_sentence(target, mib(1100), 1100), "");
    EXPECT_EQ(much_free_memory_sentence(TargetSnapshot{}, mib(1100), 1100), "");
}

}  // namespace heap_sentence_test
}  // namespace memscope
