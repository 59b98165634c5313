#include "sources/heap/native_blocks.h"

#include <gtest/gtest.h>

namespace memscope {
namespace native_blocks_test {

using Kind = NativeBlocks::Kind;

HeapBlock block(std::uint64_t start, std::uint64_t bytes) {
    return {.start = start, .units = static_cast<std::uint32_t>(bytes / 16)};
}

constexpr std::uint64_t kHeap = 0x6000'0000'0000, kFar = 0x7f00'0000'0000;

TEST(NativeBlocks, ABlockIsFoundByAnyAddressInIt) {
    const std::vector<HeapRange> mapped{{kFar, kFar + 0x10000}};
    const NativeBlocks blocks({block(kHeap, 32), block(kHeap + 32, 4096), block(kHeap + 0x200000, 64)}, mapped, {});
    ASSERT_EQ(blocks.size(), 4U);
    EXPECT_EQ(blocks.find(kHeap), NativeBlocks::kNone) << "the head is no content";
    EXPECT_EQ(blocks.find(kHeap + 16), 0U);
    EXPECT_EQ(blocks.find(kHeap + 31), 0U);
    EXPECT_EQ(blocks.find(kHeap + 48), 1U);
    EXPECT_EQ(blocks.find(kHeap + 32 + 4095), 1U);
    EXPECT_EQ(blocks.find(kHeap + 0x1000 + 48), NativeBlocks::kNone) << "between blocks";
    EXPECT_EQ(blocks.find(kHeap + 0x200010), 2U);
    EXPECT_EQ(blocks.find(kFar + 0xffff), 3U);
    EXPECT_EQ(blocks.find(kFar + 0x10000), NativeBlocks::kNone);
    EXPECT_EQ(blocks.find(0), NativeBlocks::kNone);
    EXPECT_EQ(blocks.find(~std::uint64_t{0}), NativeBlocks::kNone);
}

TEST(NativeBlocks, EachBlockOfManyIsFound) {
    std::vector<HeapBlock> all;
    std::uint64_t at = kHeap;
    for (std::uint64_t i = 0; i < 5000; ++i) {
        all.push_back(block(at, 32 + i % 7 * 16 + (i % 97 == 0 ? 100'000 : 0) / 16 * 16));
        at = all.back().end() + (i % 11 == 0 ? 48 : 0) + (i % 500 == 0 ? std::uint64_t{3} << 30U : 0);
    }
    const NativeBlocks blocks(all, {}, {});
    for (NativeBlocks::Number i = 0; i < all.size(); ++i) {
        EXPECT_EQ(blocks.find(all[i].start + 16), i);
        EXPECT_EQ(blocks.find(all[i].end() - 1), i);
        EXPECT_NE(blocks.find(all[i].start + 15), i);
        EXPECT_NE(blocks.find(all[i].end()), i);
    }
}

TEST(NativeBlocks, TheFirstClaimOfABlockStands) {
    NativeBlocks blocks({block(kHeap, 64), block(kHeap + 64, 64)}, {}, {});
    blocks.claim(kHeap + 20, 7, Kind::object);
    blocks.claim(kHeap + 24, 8, Kind::buffer);
    EXPECT_EQ(blocks.node(0), 7U);
    EXPECT_EQ(blocks.kind(0), Kind::object);
    EXPECT_EQ(blocks.kind(1), Kind::raw);
    blocks.claim(kHeap + 0x10000, 9, Kind::object);  // no block
    blocks.forget_claims();
    EXPECT_EQ(blocks.kind(0), Kind::raw);
    EXPECT_EQ(blocks.node(0), 0U);
}

TEST(NativeBlocks, AMappingHasNoHeadAndStaysAMapping) {
    const std::vector<HeapRange> mappings{{kFar, kFar + 0x200000}};
    NativeBlocks blocks({block(kHeap, 64)}, {}, mappings);
    ASSERT_EQ(blocks.size(), 2U);
    EXPECT_EQ(blocks.find(kFar), 1U);
    EXPECT_EQ(blocks.bytes(1), 0x200000U);
    blocks.claim(kFar, 5, Kind::buffer);
    EXPECT_EQ(blocks.kind(1), Kind::mapping);
    EXPECT_EQ(blocks.node(1), 5U);
    blocks.forget_claims();
    EXPECT_EQ(blocks.kind(1), Kind::mapping);
    EXPECT_EQ(blocks.node(1), 0U);
}

}  // namespace native_blocks_test
}  // namespace memscope
