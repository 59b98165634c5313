#include "model/heap/heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/packing.h"

namespace memscope {
namespace heap_test {

TEST(Heap, EveryPartAndGapHasAName) {
    EXPECT_EQ(name_of(HeapPart::malloc_live), "malloc_live");
    EXPECT_EQ(name_of(HeapPart::other), "other");
    EXPECT_EQ(name_of(AllocatorName::mimalloc), "mimalloc");
    EXPECT_EQ(name_of(HeapGap::time_limit), "time_limit");
}

HeapCensus example() {
    HeapCensus census{.process = {.pid = 7, .start_ns = 8}, .time = 9.5};
    census.taken = Seconds{0.5};
    census.anon = Bytes{100};
    census.swap = Bytes{3};
    census.python = "3.11";
    for (std::size_t i = 0; i < kHeapParts; ++i) census.parts[i] = Bytes{i + 1};
    census.allocator = {.name = AllocatorName::glibc, .version = "2.36", .arenas = 4, .trimmable = Bytes{5}};
    census.mappings = {{1, 2, Bytes{3}, {}}, {4, 5, Bytes{6}, "load (train.py:88)"}};
    census.incomplete = {{HeapGap::torn, 2}, {HeapGap::too_many, 1}};
    return census;
}

TEST(Heap, ACensusIsUnchangedAfterPackingAndUnpacking) {
    const HeapCensus sent = example();
    Packer packer;
    packer.put(Result<HeapCensus>(sent));
    const auto received = Unpacker::result<HeapCensus>(packer.bytes(), {});
    ASSERT_TRUE(received);
    EXPECT_EQ(received->process, sent.process);
    EXPECT_EQ(received->time, sent.time);
    EXPECT_EQ(received->taken, sent.taken);
    EXPECT_EQ(received->anon, sent.anon);
    EXPECT_EQ(received->swap, sent.swap);
    EXPECT_EQ(received->python, sent.python);
    EXPECT_EQ(received->parts, sent.parts);
    EXPECT_EQ(received->allocator.name, sent.allocator.name);
    EXPECT_EQ(received->allocator.version, sent.allocator.version);
    EXPECT_EQ(received->allocator.arenas, sent.allocator.arenas);
    EXPECT_EQ(received->allocator.trimmable, sent.allocator.trimmable);
    ASSERT_EQ(received->mappings.size(), 2U);
    EXPECT_EQ(received->mappings[1].resident, Bytes{6});
    EXPECT_EQ(received->mappings[1].mapped_at, "load (train.py:88)");
    EXPECT_EQ(received->incomplete, sent.incomplete);
}

TEST(Heap, ACensusThatIsCutOffIsRefused) {
    Packer packer;
    packer.put(Result<HeapCensus>(example()));
    for (std::size_t size = 0; size < packer.bytes().size(); ++size)
        EXPECT_FALSE(Unpacker::result<HeapCensus>(std::string_view(packer.bytes()).substr(0, size), {})) << size;
}

}  // namespace heap_test
}  // namespace memscope
