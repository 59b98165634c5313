#include "sources/heap/thread_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_heap.h"
#include "support/fake_threads.h"

namespace memscope {
namespace thread_stacks_test {

constexpr Seconds kLong{60};

TEST(ThreadStacks, ThreadsAndTheirStacksAreFound) {
    FakePages pages;
    FakeThreads threads(pages);
    for (const std::int32_t tid : {100, 101, 0}) threads.add(tid);
    const LibraryData data = threads.finish();
    const PresentPages present = pages.present();
    PresentMemory memory(pages, present);
    const auto threads_found = find_threads({&data, 1}, memory, ReadDeadline(kLong));
    const auto& found = threads_found.all;
    EXPECT_FALSE(threads_found.late);
    EXPECT_FALSE(threads_found.cut_off);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].tid, 100);
    EXPECT_EQ(found[1].stack, (HeapRange{FakeThreads::stack_start(1), FakeThreads::stack_start(2)}));
}

TEST(ThreadStacks, AListThatDoesNotReturnToItsHeadIsRefused) {
    FakePages pages;
    FakeThreads threads(pages);
    for (const std::int32_t tid : {100, 101}) threads.add(tid);
    const LibraryData data = threads.finish();
    pages.put(threads.nodes[1], threads.nodes[0]);
    const PresentPages present = pages.present();
    PresentMemory memory(pages, present);
    EXPECT_TRUE(find_threads({&data, 1}, memory, ReadDeadline(kLong)).all.empty());
}

TEST(ThreadStacks, WithoutTimeTheAnswerSaysSo) {
    FakePages pages;
    FakeThreads threads(pages);
    threads.add(100);
    const LibraryData data = threads.finish();
    const PresentPages present = pages.present();
    PresentMemory memory(pages, present);
    const auto found = find_threads({&data, 1}, memory, ReadDeadline(Seconds{0}));
    EXPECT_TRUE(found.all.empty());
    EXPECT_TRUE(found.late);
}

}  // namespace thread_stacks_test
}  // namespace memscope
