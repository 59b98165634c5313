#include "sources/heap/python/heap_copy.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <random>

#include "support/fake_heap.h"

namespace memscope {
namespace heap_copy_test {

constexpr std::uint64_t kStart = 0x6000'0000'0000;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

MappedRange range(std::uint64_t start, std::uint64_t end, std::string path = {}, bool writable = true) {
    MappedRange range;
    range.start = start;
    range.end = end;
    range.readable = true;
    range.writable = writable;
    range.inode = path.empty() ? 0 : 7;
    range.path = std::move(path);
    return range;
}

struct HeapCopyTest : testing::Test {
    FakePages pages{};
    ProcessMaps maps{.ranges = {range(kStart, kStart + 64 * kMiB)}};
    ReadDeadline deadline{Seconds{60}};
};

TEST_F(HeapCopyTest, APageStaysAsItWasWhenItWasFirstRead) {
    pages.put(kStart, 1);
    HeapCopy copy(pages, maps, 4 * kMiB, deadline);
    EXPECT_EQ(copy.word(kStart), 1U);
    pages.put(kStart, 2);
    EXPECT_EQ(copy.word(kStart), 1U);
}

TEST_F(HeapCopyTest, MemoryIsLimitedAndDroppedPagesAreReadAgain) {
    for (std::uint64_t at = 0; at < 8 * kMiB; at += HeapCopy::kPage) pages.put(kStart + at, at + 1);
    HeapCopy copy(pages, maps, 2 * kMiB, deadline);
    for (int round = 0; round < 2; ++round)
        for (std::uint64_t at = 0; at < 8 * kMiB; at += HeapCopy::kPage) EXPECT_EQ(copy.word(kStart + at), at + 1);
    EXPECT_GT(pages.reads, 8 * kMiB / HeapCopy::kPage) << "not all of it was kept";
}

TEST_F(HeapCopyTest, CopyingAgainCorrectsOnlyWhatWasCopied) {
    pages.put(kStart, 1);
    pages.put(kStart + 64, 1);
    HeapCopy copy(pages, maps, 8 * kMiB, deadline);
    EXPECT_EQ(copy.word(kStart), 1U);
    pages.put(kStart, 2);
    pages.put(kStart + 64, 2);
    const std::vector<HeapRange> ranges{{kStart + 64, kStart + 80}, {kStart + 32 * kMiB, kStart + 32 * kMiB + 16}};
    copy.copy_again(ranges);
    EXPECT_EQ(copy.word(kStart), 1U);
    EXPECT_EQ(copy.word(kStart + 64), 2U);
}

TEST_F(HeapCopyTest, PagesThatAreNeededOnceLeaveTheOthersInPlace) {
    for (std::uint64_t at = 0; at < 32 * kMiB; at += HeapCopy::kPage) pages.put(kStart + at, at + 1);
    HeapCopy copy(pages, maps, 8 * kMiB, deadline);
    EXPECT_EQ(copy.word(kStart), 1U);
    for (std::uint64_t at = kMiB; at < 32 * kMiB; at += kMiB) {
        const HeapRange part{kStart + at, kStart + at + kMiB};
        EXPECT_EQ(copy.copy({&part, 1}, HeapCopy::Use::once), 0U);
        EXPECT_EQ(copy.word(part.start), at + 1);
    }
    EXPECT_TRUE(copy.has_copy_of(kStart));
    EXPECT_FALSE(copy.has_copy_of(kStart + kMiB));
    EXPECT_TRUE(copy.has_copy_of(kStart + 31 * kMiB));
}

TEST_F(HeapCopyTest, AbsentPagesAreZerosAndLeftOutOfWords) {
    pages.put(kStart, 1);
    pages.put(kStart + 8192, 3);
    HeapCopy copy(pages, maps, 4 * kMiB, deadline);
    EXPECT_EQ(copy.word(kStart + 4096), 0U);
    EXPECT_FALSE(copy.is_present(kStart + 4096));
    std::uint64_t words = 0;
    copy.for_words(kStart, 3 * 512, [&](std::uint64_t i, std::uint64_t) {
        ++words;
        EXPECT_TRUE(i < 512 || i >= 1024);
    });
    EXPECT_EQ(words, 1024U);
    EXPECT_EQ(copy.word(kStart + 1), 0U) << "not aligned";
    EXPECT_EQ(copy.word(~std::uint64_t{7}), 0U);
}

TEST_F(HeapCopyTest, CopiesRangesAtOnce) {
    for (std::uint64_t at = 0; at < 2 * kMiB; at += HeapCopy::kPage) pages.put(kStart + at, at + 1);
    pages.drop(kStart + HeapCopy::kPage);
    HeapCopy copy(pages, maps, 8 * kMiB, deadline);
    const HeapRange wanted{kStart, kStart + 2 * kMiB};
    EXPECT_EQ(copy.copy({&wanted, 1}), 1U) << "one page is absent";
    const std::uint64_t reads = pages.reads;
    for (std::uint64_t at = 2 * HeapCopy::kPage; at < 2 * kMiB; at += HeapCopy::kPage)
        EXPECT_EQ(copy.word(kStart + at), at + 1);
    EXPECT_EQ(pages.reads, reads);
}

TEST_F(HeapCopyTest, DeviceMemoryIsNotRead) {
    pages.put(kStart, 1);
    maps.ranges[0].path = "/dev/nvidia-uvm";
    HeapCopy copy(pages, maps, 4 * kMiB, deadline);
    EXPECT_EQ(copy.word(kStart), 0U);
    EXPECT_EQ(pages.reads, 0U);
    EXPECT_FALSE(copy.is_mapped(kStart, 8));
    EXPECT_TRUE(copy.is_claimed(kStart, 8));
}

TEST_F(HeapCopyTest, AnAbsentPageOfAReadOnlyFileIsReadFromTheFile) {
    const std::uint64_t library = kStart + 128 * kMiB;
    maps.ranges.push_back(range(library, library + 8192, "/lib/libx.so", false));
    maps.ranges.back().offset = 0x3000;
    std::vector<std::uint64_t> offsets;
    HeapCopy copy(pages, maps, 4 * kMiB, deadline,
                  [&](const MappedRange& of, std::uint64_t offset, std::span<std::byte> into) {
                      EXPECT_EQ(of.path, "/lib/libx.so");
                      offsets.push_back(offset);
                      std::memcpy(into.data(), "torch.Tensor", 13);
                      return true;
                  });
    EXPECT_EQ(copy.c_string(library + 4096, 100), "torch.Tensor");
    EXPECT_THAT(offsets, testing::ElementsAre(0x4000));
    EXPECT_EQ(copy.word(kStart), 0U);
    EXPECT_EQ(offsets.size(), 1U) << "not of memory that can be written";
}

TEST_F(HeapCopyTest, PrefetchedPagesAreReadTogetherAndLeaveTheOthersInPlace) {
    for (std::uint64_t at = 0; at < 48 * kMiB; at += HeapCopy::kPage) pages.put(kStart + at, at + 1);
    HeapCopy copy(pages, maps, 24 * kMiB, deadline);
    EXPECT_EQ(copy.word(kStart), 1U);
    std::vector<Address> wanted;
    for (std::uint64_t at = 0; at < 48 * kMiB; at += 64 * HeapCopy::kPage) wanted.push_back(kStart + at + 8);
    const std::vector<Address> asked = wanted;
    const std::uint64_t calls = pages.calls;
    copy.prefetch(wanted);
    EXPECT_LE(pages.calls - calls, asked.size() / 64 + 2);
    const std::uint64_t reads = pages.reads;
    for (const Address each : asked) EXPECT_EQ(copy.word(each - 8), each - 8 - kStart + 1);
    EXPECT_EQ(pages.reads, reads);
    // More than there is room for: the pages that are needed often stay.
    for (std::uint64_t from = 0; from < 48; ++from) {
        wanted.clear();
        for (std::uint64_t at = 0; at < kMiB; at += HeapCopy::kPage) wanted.push_back(kStart + from * kMiB + at);
        copy.prefetch(wanted);
    }
    EXPECT_TRUE(copy.has_copy_of(kStart));
    EXPECT_FALSE(copy.has_copy_of(kStart + 20 * kMiB));
}

TEST_F(HeapCopyTest, WordsThatAreNoAddressesAreTriedOnce) {
    HeapCopy copy(pages, maps, 8 * kMiB, deadline);
    const auto ask = [&] {
        for (std::uint64_t i = 1; i < 64; ++i) EXPECT_EQ(copy.word(i << 34U), 0U);
    };
    ask();
    const std::uint64_t reads = pages.reads;
    for (int i = 0; i < 100; ++i) ask();
    EXPECT_LE(pages.reads, reads + 400) << "few of them share a place of the table";
    // Memory that is read again on purpose is tried again.
    EXPECT_EQ(copy.word(kStart), 0U);
    pages.put(kStart, 5);
    copy.forget({kStart, kStart + 8});
    EXPECT_EQ(copy.word(kStart), 5U);
}

TEST(CopiedPages, KnowsWhatWasSetAndNotErased) {
    std::vector<std::byte> places(1000);
    std::map<std::uint64_t, std::byte*> expected;
    CopiedPages pages;
    std::minstd_rand random(7);
    for (int i = 0; i < 100'000; ++i) {
        // Pages of neighbours, and pages that a multiple of a power of two apart: they share places of the table.
        const std::uint64_t page = random() % 2 == 0 ? random() % 30'000 : (random() % 30'000) << 20U;
        if (random() % 3 == 0) {
            expected.erase(page);
            pages.erase(page);
        } else {
            pages.set(page, expected[page] = &places[random() % places.size()]);
        }
        const std::uint64_t other = random() % 30'000;
        const auto known = expected.find(other);
        ASSERT_EQ(pages.find(other), known == expected.end() ? nullptr : known->second);
    }
    for (const auto& [page, bytes] : expected) ASSERT_EQ(pages.find(page), bytes);
}

}  // namespace heap_copy_test
}  // namespace memscope
