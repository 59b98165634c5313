#include "analysis/heap/explain_heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace explain_heap_test {

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

HeapCensus census(std::uint64_t malloc_live, std::uint64_t malloc_free, std::uint64_t trimmable,
                  std::uint64_t arenas = 1) {
    HeapCensus made;
    made.part(HeapPart::malloc_live) = Bytes{malloc_live * kMiB};
    made.part(HeapPart::malloc_free) = Bytes{malloc_free * kMiB};
    made.anon = Bytes{(malloc_live + malloc_free) * kMiB};
    made.allocator = {
        .name = AllocatorName::glibc, .version = "2.36", .arenas = arenas, .trimmable = Bytes{trimmable * kMiB}};
    return made;
}

TEST(ExplainHeap, FreedMemoryThatTrimReturnsIsNotALeak) {
    EXPECT_EQ(explain_heap(census(205, 1843, 1820)),
              "1.8 of 2.0 GiB are free inside glibc (1 arena): not a leak. malloc_trim(0) would give back 1.8 GiB now. "
              "jemalloc usually prevents this.");
}

TEST(ExplainHeap, ManyArenasCanBeLimited) {
    EXPECT_THAT(explain_heap(census(100, 900, 800, 64)),
                HasSubstr("MALLOC_ARENA_MAX=2 or jemalloc usually prevents this."));
}

TEST(ExplainHeap, FreedMemoryInPiecesStays) {
    const std::string text = explain_heap(census(128, 98, 0));
    EXPECT_THAT(text, HasSubstr("98 of 226 MiB are free inside glibc, but in pieces between live blocks: "
                                "malloc_trim(0) would give back only 0 B."));
    EXPECT_THAT(text, Not(HasSubstr("not a leak")));
}

TEST(ExplainHeap, TrimDoesNotReachPython) {
    HeapCensus made = census(50, 0, 0);
    made.part(HeapPart::python_free) = Bytes{744 * kMiB};
    made.part(HeapPart::python_live) = Bytes{63 * kMiB};
    made.anon = Bytes{857 * kMiB};
    const std::string text = explain_heap(made);
    EXPECT_THAT(text, HasSubstr("744 of 857 MiB are free inside Python's allocator"));
    EXPECT_THAT(text, HasSubstr("malloc_trim(0) does not reach them"));
}

TEST(ExplainHeap, LiveBlocksAreHeldBySomething) {
    EXPECT_EQ(explain_heap(census(1024, 2, 1)),
              "1.0 of 1.0 GiB are live blocks: something holds them. "
              "malloc_trim(0) would give back only 1.0 MiB.");
    HeapCensus made = census(10, 0, 0);
    made.part(HeapPart::python_live) = Bytes{500 * kMiB};
    made.anon = Bytes{510 * kMiB};
    EXPECT_EQ(explain_heap(made), "500 of 510 MiB are live small Python objects: something holds them.");
}

TEST(ExplainHeap, TrimIsMentionedOnce) {
    EXPECT_EQ(
        explain_heap(census(600, 400, 300)),
        "400 of 1000 MiB are free inside glibc (1 arena): not a leak. malloc_trim(0) would give back 300 MiB now. "
        "jemalloc usually prevents this. 600 of 1000 MiB are live blocks: something holds them.");
}

TEST(ExplainHeap, TheInsideOfAnotherAllocatorIsNotDescribed) {
    HeapCensus made;
    made.allocator.name = AllocatorName::jemalloc;
    made.part(HeapPart::mapped) = Bytes{900 * kMiB};
    made.anon = Bytes{1000 * kMiB};
    EXPECT_EQ(explain_heap(made),
              "malloc is served by jemalloc: how much is free inside it cannot be read from outside. "
              "Up to 900 of 1000 MiB are its memory.");
}

TEST(ExplainHeap, MappingsOfNoAllocatorAndSwapAreNamed) {
    HeapCensus made = census(100, 0, 0);
    made.part(HeapPart::mapped) = Bytes{400 * kMiB};
    made.anon = Bytes{500 * kMiB};
    made.swap = Bytes{30 * kMiB};
    EXPECT_EQ(explain_heap(made),
              "400 of 500 MiB are large mappings that belong to no known allocator. 30 MiB more are "
              "swapped out and not included here.");
}

TEST(ExplainHeap, AnEmptyCensusHasASentence) {
    EXPECT_EQ(explain_heap({}),
              "0 B of anonymous memory, of which 0 B are live blocks and 0 B are free inside allocators.");
}

}  // namespace explain_heap_test
}  // namespace memscope
