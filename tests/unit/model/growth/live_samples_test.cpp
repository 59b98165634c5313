#include "model/growth/live_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace live_samples_test {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kPage = 4096;
constexpr std::int64_t kWeight = 512 << 10;
constexpr ProcessId kTrainer{7, 1};
constexpr StackId kLoad{11};
constexpr StackId kKeep{12};

GrowthSample sample(std::uint64_t address, std::uint64_t time_ns, StackId stack = kLoad) {
    return {.space = SpaceId{1},
            .process = kTrainer,
            .time_ns = time_ns,
            .address = address,
            .stack = stack,
            .bytes = kWeight};
}

RangeEvent event(ms_range_call call, AddressRange range, std::uint64_t time_ns, AddressRange old = {}) {
    return {.time_ns = time_ns, .id = kTrainer, .call = call, .range = range, .old = old};
}

std::int64_t bytes_of(const LiveSamples& samples, StackId stack) {
    std::int64_t bytes = 0;
    for (const HeldAtStack& held : samples.held(kTrainer))
        if (held.stack == stack) bytes += held.bytes;
    return bytes;
}

TEST(LiveSamples, ASampleLivesUntilItsPageIsUnmapped) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    samples.add(sample(20 * kPage, 1, kKeep));
    EXPECT_EQ(bytes_of(samples, kLoad), kWeight);
    samples.apply(event(MS_RANGE_UNMAP, {10 * kPage, 11 * kPage}, 2));
    EXPECT_EQ(bytes_of(samples, kLoad), 0);
    EXPECT_EQ(bytes_of(samples, kKeep), kWeight);
    EXPECT_EQ(samples.count(), 1U);
}

TEST(LiveSamples, EachWayOfFreeingEndsASample) {
    for (const ms_range_call call : {MS_RANGE_UNMAP, MS_RANGE_MAP, MS_RANGE_GIVE_BACK}) {
        LiveSamples samples;
        samples.add(sample(10 * kPage, 1));
        samples.apply(event(call, {0, 100 * kPage}, 2));
        EXPECT_THAT(samples.held(kTrainer), IsEmpty()) << call;
    }
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    samples.apply(event(MS_RANGE_EXEC, {}, 2));
    EXPECT_THAT(samples.held(kTrainer), IsEmpty());
}

// The two ring buffers are read one after the other.
TEST(LiveSamples, AnEventThatArrivesBeforeTheSampleItEndsStillEndsIt) {
    LiveSamples samples;
    samples.apply(event(MS_RANGE_UNMAP, {0, 100 * kPage}, 5));
    samples.add(sample(10 * kPage, 4));
    EXPECT_EQ(bytes_of(samples, kLoad), 0);
    samples.add(sample(10 * kPage, 6));  // the address is in use again
    EXPECT_EQ(bytes_of(samples, kLoad), kWeight);
}

// The samples of a child can arrive before the event of its fork.
TEST(LiveSamples, TheForkOfAProcessDoesNotEndItsFirstSamples) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 6));
    RangeEvent fork = event(MS_RANGE_FORK, {}, 5);
    fork.lost = 3;  // the child starts with the count of its parent
    samples.apply(fork);
    RangeEvent later = event(MS_RANGE_UNMAP, {900 * kPage, 901 * kPage}, 8);
    later.lost = 3;
    samples.apply(later);
    EXPECT_EQ(bytes_of(samples, kLoad), kWeight);
}

TEST(LiveSamples, AnEventDoesNotEndALaterSampleAtItsAddress) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 6));
    samples.apply(event(MS_RANGE_UNMAP, {0, 100 * kPage}, 5));
    EXPECT_EQ(bytes_of(samples, kLoad), kWeight);
}

TEST(LiveSamples, RepeatedlyReusedAddressesKeepNoSamples) {
    LiveSamples samples;
    std::uint64_t time = 0;
    for (int round = 0; round < 1500; ++round) {
        for (std::uint64_t i = 0; i < 16; ++i) samples.add(sample((1000 + 128 * i) * kPage, ++time));
        samples.apply(event(MS_RANGE_UNMAP, {1000 * kPage, 3048 * kPage}, ++time));
    }
    EXPECT_EQ(samples.count(), 0U);
    EXPECT_THAT(samples.held(kTrainer), IsEmpty());
}

TEST(LiveSamples, MoveWithTheirPages) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    samples.apply(event(MS_RANGE_MOVED, {500 * kPage, 600 * kPage}, 2, {0, 50 * kPage}));
    EXPECT_THAT(samples.addresses(kTrainer, 0, 10), ElementsAre(510 * kPage));
    samples.apply(event(MS_RANGE_UNMAP, {0, 50 * kPage}, 3));
    EXPECT_EQ(bytes_of(samples, kLoad), kWeight);
    samples.apply(event(MS_RANGE_UNMAP, {500 * kPage, 600 * kPage}, 4));
    EXPECT_EQ(bytes_of(samples, kLoad), 0);
}

TEST(LiveSamples, ALateSampleFollowsTheMovesThatCameFirst) {
    LiveSamples samples;
    samples.apply(event(MS_RANGE_MOVED, {500 * kPage, 600 * kPage}, 5, {0, 50 * kPage}));
    samples.apply(event(MS_RANGE_MOVED, {900 * kPage, 999 * kPage}, 6, {500 * kPage, 600 * kPage}));
    samples.add(sample(10 * kPage, 4));
    EXPECT_THAT(samples.addresses(kTrainer, 0, 10), ElementsAre(910 * kPage));
}

TEST(LiveSamples, AMoveToASmallerRangeEndsTheRest) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    samples.add(sample(40 * kPage, 1, kKeep));
    samples.apply(event(MS_RANGE_MOVED, {500 * kPage, 520 * kPage}, 2, {0, 50 * kPage}));
    EXPECT_THAT(samples.addresses(kTrainer, 0, 10), ElementsAre(510 * kPage));
    EXPECT_EQ(bytes_of(samples, kKeep), 0);
}

TEST(LiveSamples, ARangeThatGrowsInPlaceKeepsItsSamples) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    samples.apply(event(MS_RANGE_MOVED, {0, 100 * kPage}, 2, {0, 50 * kPage}));
    EXPECT_THAT(samples.addresses(kTrainer, 0, 10), ElementsAre(10 * kPage));
}

TEST(LiveSamples, ThePagesThatAreGoneAreTakenOut) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    samples.add(sample(20 * kPage, 9, kKeep));
    samples.remove_absent(kTrainer, {10 * kPage, 20 * kPage}, 5, 6);
    EXPECT_EQ(bytes_of(samples, kLoad), 0);
    EXPECT_EQ(bytes_of(samples, kKeep), kWeight) << "it is newer than the reading";
}

// A check of pages uses the addresses from before the move, and its answer can arrive before the event of the move.
TEST(LiveSamples, TheEventOfAMoveRestoresASampleThatWasRemovedAsAbsent) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    samples.add(sample(20 * kPage, 1, kKeep));
    samples.remove_absent(kTrainer, {10 * kPage, 20 * kPage}, 5, 6);
    samples.apply(event(MS_RANGE_MOVED, {1000 * kPage, 1015 * kPage}, 4, {0, 15 * kPage}));
    EXPECT_THAT(samples.addresses(kTrainer, 0, 10), ElementsAre(1010 * kPage));
    EXPECT_EQ(bytes_of(samples, kLoad), kWeight);
    EXPECT_EQ(bytes_of(samples, kKeep), 0) << "it has not moved";
    samples.apply(event(MS_RANGE_MOVED, {2000 * kPage, 2015 * kPage}, 4, {0, 15 * kPage}));
    EXPECT_THAT(samples.addresses(kTrainer, 0, 10), ElementsAre(1010 * kPage)) << "it comes back once";
}

TEST(LiveSamples, APageThatIsGoneStaysGone) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    samples.add(sample(20 * kPage, 1));
    samples.add(sample(30 * kPage, 1));
    samples.remove_absent(kTrainer, {10 * kPage, 20 * kPage, 30 * kPage}, 5, 6);
    samples.apply(event(MS_RANGE_MOVED, {1000 * kPage, 1015 * kPage}, 7, {0, 15 * kPage}));
    EXPECT_EQ(samples.count(), 0U) << "its range moved after it was looked for";
    samples.apply(event(MS_RANGE_UNMAP, {15 * kPage, 25 * kPage}, 3));
    samples.apply(event(MS_RANGE_MOVED, {2000 * kPage, 2010 * kPage}, 4, {15 * kPage, 25 * kPage}));
    EXPECT_EQ(samples.count(), 0U) << "it was unmapped before another range moved from there";
    samples.forget_events_before(7);
    samples.apply(event(MS_RANGE_MOVED, {3000 * kPage, 3010 * kPage}, 4, {25 * kPage, 35 * kPage}));
    EXPECT_EQ(samples.count(), 0U) << "all events of that time have arrived";
}

TEST(LiveSamples, AHugePageIsKeptInParts) {
    LiveSamples samples;
    GrowthSample huge = sample(515 * kPage, 1);
    huge.bytes = 2 << 20;
    samples.add(huge);
    EXPECT_THAT(samples.addresses(kTrainer, 0, 10), ElementsAre(512 * kPage, 640 * kPage, 768 * kPage, 896 * kPage));
    EXPECT_EQ(bytes_of(samples, kLoad), 2 << 20);
}

TEST(LiveSamples, TooManyAreThinnedOutAndCountDouble) {
    LiveSamples samples({.process = 1000, .all = 10'000, .recent = 10});
    for (std::uint64_t i = 0; i < 8000; ++i) samples.add(sample((i + 1) * kPage, 1, i % 4 == 0 ? kKeep : kLoad));
    EXPECT_LE(samples.count(), 1000U);
    const auto sum = static_cast<double>(bytes_of(samples, kKeep) + bytes_of(samples, kLoad));
    EXPECT_NEAR(sum / (8000.0 * kWeight), 1, 0.02);
}

TEST(LiveSamples, AllProcessesTogetherHaveABound) {
    LiveSamples samples({.process = 1000, .all = 1500, .recent = 10});
    for (pid_t pid = 1; pid <= 4; ++pid)
        for (std::uint64_t i = 0; i < 900; ++i) {
            GrowthSample one = sample((i + 1) * kPage, 1);
            one.process.pid = pid;
            samples.add(one);
        }
    EXPECT_LE(samples.count(), 1500U);
    EXPECT_GT(samples.count({1, 1}), 0U);
}

TEST(LiveSamples, LostEventsEndAllSamplesOfTheProcess) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    RangeEvent later = event(MS_RANGE_UNMAP, {900 * kPage, 901 * kPage}, 2);
    later.lost = 3;
    samples.apply(later);
    EXPECT_THAT(samples.held(kTrainer), IsEmpty());
}

TEST(LiveSamples, SamplesOfAForgottenStackHaveNoStack) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    samples.move_stacks({{kLoad, kNoStack}}, 5);
    EXPECT_EQ(bytes_of(samples, kNoStack), kWeight);
    samples.apply(event(MS_RANGE_UNMAP, {0, 100 * kPage}, 2));
    EXPECT_THAT(samples.held(kTrainer), IsEmpty());
}

TEST(LiveSamples, SamplesMoveToAnotherStack) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    samples.move_stacks({{kLoad, kKeep}}, 5);
    EXPECT_EQ(bytes_of(samples, kKeep), kWeight);
    samples.add(sample(20 * kPage, 4));
    EXPECT_EQ(bytes_of(samples, kKeep), 2 * kWeight) << "it was on its way";
    samples.add(sample(30 * kPage, 6));
    EXPECT_EQ(bytes_of(samples, kLoad), kWeight) << "the stack was sent again";
    samples.apply(event(MS_RANGE_UNMAP, {0, 100 * kPage}, 7));
    EXPECT_THAT(samples.held(kTrainer), IsEmpty());
}

// A merged stack is merged again while samples of it can arrive.
TEST(LiveSamples, MovesAreFollowedOneAfterTheOther) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    samples.move_stacks({{kLoad, kKeep}}, 5);
    samples.move_stacks({{kKeep, kNoStack}}, 6);
    samples.add(sample(20 * kPage, 4));
    EXPECT_EQ(bytes_of(samples, kNoStack), 2 * kWeight);
}

TEST(LiveSamples, NetChangesHaveNoAddressAndAreNeverNegative) {
    LiveSamples samples;
    GrowthSample step = sample(0, 1);
    samples.add(step);
    step.stack = kKeep;
    step.bytes = -kWeight;
    samples.add(step);
    EXPECT_EQ(bytes_of(samples, kLoad), kWeight);
    EXPECT_EQ(bytes_of(samples, kKeep), 0);
}

TEST(LiveSamples, AnotherProgramStartsWithNothing) {
    LiveSamples samples;
    samples.add(sample(10 * kPage, 1));
    GrowthSample next = sample(20 * kPage, 5, kKeep);
    next.space = SpaceId{2};
    samples.add(next);
    EXPECT_EQ(bytes_of(samples, kLoad), 0);
    EXPECT_EQ(bytes_of(samples, kKeep), kWeight);
    samples.add(sample(30 * kPage, 2));  // arrives late
    EXPECT_EQ(bytes_of(samples, kLoad), 0);
}

}  // namespace live_samples_test
}  // namespace memscope
