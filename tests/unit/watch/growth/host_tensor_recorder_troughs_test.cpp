#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "watch/growth/host_tensor_recorder.h"

namespace memscope {
namespace host_tensor_recorder_troughs_test {

using testing::ElementsAre;

constexpr SpaceId kSpace{1};
constexpr CallsId kLine{7};
constexpr CallsId kOtherLine{8};

HostTensorSite site(std::uint64_t stack, std::int64_t bytes, CallsId calls = kLine, SpaceId space = kSpace) {
    return {.space = space, .stack = StackId{stack}, .calls = calls, .bytes = bytes};
}

// A reading in which these calls have freed memory. The calls of other sites have not.
HostTensorReading reading(std::vector<HostTensorSite> sites,
                          std::map<HostTensorReading::Calls, HostTensorFrees> frees = {}) {
    HostTensorReading all{.sites = std::move(sites)};
    for (const HostTensorSite& each : all.sites) all.calls[{each.space, each.calls}];
    for (const auto& [calls, freed] : frees) all.calls[calls] = freed;
    return all;
}

TEST(StackTroughs, ANewStackUsesTheHistoryOfItsLine) {
    StackTroughs troughs;
    EXPECT_THAT(troughs.passing(reading({site(1, 30)}), Seconds(1)), ElementsAre(0)) << "it has freed nothing yet";
    EXPECT_THAT(troughs.passing(reading({site(1, 0)}, {{{kSpace, kLine}, {0, 30, 30}}}), Seconds(2)), ElementsAre(0));
    EXPECT_THAT(troughs.passing(reading({site(1, 0), site(2, 16), site(3, 12)}), Seconds(3)), ElementsAre(0, 16, 12));
}

TEST(StackTroughs, CallsAndProcessesHaveSeparateHistories) {
    StackTroughs troughs;
    const auto others = std::vector{site(1, 30), site(2, 30, kOtherLine), site(3, 30, kLine, SpaceId{2})};
    (void)troughs.passing(reading(others, {{{kSpace, kLine}, {0, 30, 30}}}), Seconds(1));
    EXPECT_THAT(troughs.passing(reading(others), Seconds(2)), ElementsAre(30, 0, 0));
}

TEST(StackTroughs, OnlyTheLargestFallOfALineCountsAsPassing) {
    StackTroughs troughs;
    // Three steps between two readings: each keeps 40 at a stack of its own, and frees 4 at another.
    const auto sites = std::vector{site(1, 40), site(2, 40), site(3, 40), site(4, 0), site(5, 0), site(6, 4)};
    const auto parts = troughs.passing(reading(sites, {{{kSpace, kLine}, {40, 124, 4}}}), Seconds(1));
    std::int64_t sum = 0;
    for (const std::int64_t part : parts) sum += part;
    EXPECT_EQ(sum, 4) << "although the line held 84 more before its last free than after the first";
}

TEST(StackTroughs, KeepsTheHistoryOfCallsThatTheKernelHasForgottenForAWhile) {
    StackTroughs troughs;
    (void)troughs.passing(reading({site(1, 0)}, {{{kSpace, kLine}, {0, 30, 30}}}), Seconds(101));
    (void)troughs.passing(reading({}), Seconds(102));
    EXPECT_THAT(troughs.passing(reading({site(2, 30)}), Seconds(103)), ElementsAre(30));
    (void)troughs.passing(reading({}), Seconds(162));
    EXPECT_THAT(troughs.passing(reading({site(3, 30)}), Seconds(163)), ElementsAre(0));
}

TEST(StackTroughs, AreBounded) {
    StackTroughs troughs;
    std::map<HostTensorReading::Calls, HostTensorFrees> frees;
    for (std::uint64_t calls = 1; calls <= StackTroughs::kMostTroughs; ++calls)
        frees[{kSpace, CallsId{calls}}] = {0, 30, 30};
    (void)troughs.passing(reading({}, frees), Seconds(101));
    (void)troughs.passing(reading({site(1, 30, CallsId{1})}), Seconds(102));
    EXPECT_THAT(troughs.passing(reading({site(2, 30, CallsId{2})}), Seconds(103)), ElementsAre(30));
    (void)troughs.passing(reading({site(1, 30, CallsId{StackTroughs::kMostTroughs + 1})}), Seconds(104));
    EXPECT_THAT(troughs.passing(reading({site(2, 30, CallsId{2})}), Seconds(105)), ElementsAre(0)) << "forgotten";
}

TEST(StackTroughs, ASiteWithUnknownCallsIsAllPassing) {
    StackTroughs troughs;
    EXPECT_THAT(troughs.passing({.sites = {site(1, 30)}}, Seconds(1)), ElementsAre(30));
}

}  // namespace host_tensor_recorder_troughs_test
}  // namespace memscope
