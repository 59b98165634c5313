#include "watch/growth/stack_troughs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace stack_troughs_test {

using testing::ElementsAre;

constexpr SpaceId kSpace{1};

RawStack raw(std::uint64_t id, std::uint64_t code, std::uint32_t instruction) {
    return {.id = StackId{id}, .space = kSpace, .python = {{.code = code, .instruction = instruction}}};
}

HostTensorSite site(std::uint64_t id, std::int64_t bytes, std::optional<std::int64_t> low = {}, std::int64_t high = 0) {
    return {.space = kSpace, .stack = StackId{id}, .bytes = bytes, .low = low, .high = high};
}

TEST(StackTroughs, ANewStackOfALineThatFreesAtEveryStepHasThePastOfTheLine) {
    StackTroughs troughs;
    for (const std::uint64_t id : {1, 2, 3}) troughs.know(raw(id, 0x1000, 20));
    EXPECT_THAT(troughs.passing(std::vector{site(1, 30)}, Seconds(1)), ElementsAre(0)) << "it has freed nothing yet";
    EXPECT_THAT(troughs.passing(std::vector{site(1, 0, 0, 30)}, Seconds(2)), ElementsAre(0));
    EXPECT_THAT(troughs.passing(std::vector{site(1, 0), site(2, 16), site(3, 12)}, Seconds(3)), ElementsAre(0, 16, 12));
}

TEST(StackTroughs, AnotherCallAndAnotherProcessHavePastsOfTheirOwn) {
    StackTroughs troughs;
    troughs.know(raw(1, 0x1000, 20));
    troughs.know(raw(2, 0x1000, 24));
    HostTensorSite other = site(3, 30);
    other.space = SpaceId{2};
    EXPECT_THAT(troughs.passing(std::vector{site(1, 0, 0, 30), site(2, 30), other}, Seconds(1)), ElementsAre(0, 0, 0));
    EXPECT_THAT(troughs.passing(std::vector{site(1, 30), site(2, 30), other}, Seconds(2)), ElementsAre(30, 0, 0));
}

TEST(StackTroughs, MemoryThatALineKeepsIsNotPassing) {
    StackTroughs troughs;
    for (const std::uint64_t id : {1, 2, 3}) troughs.know(raw(id, 0x1000, 20));
    // Each step keeps 40 at a stack of its own, and frees 4 at another.
    (void)troughs.passing(std::vector{site(1, 40), site(3, 0, 0, 4)}, Seconds(1));
    const auto parts = troughs.passing(std::vector{site(1, 40), site(2, 40), site(3, 4, 0, 4)}, Seconds(2));
    EXPECT_EQ(parts[0] + parts[1] + parts[2], 4) << "the deepest fall was 4";
}

TEST(StackTroughs, StacksWithoutPythonCountAlone) {
    StackTroughs troughs;
    troughs.know({.id = StackId{1}, .space = kSpace});
    (void)troughs.passing(std::vector{site(1, 0, 0, 30), site(2, 5)}, Seconds(1));
    EXPECT_THAT(troughs.passing(std::vector{site(1, 30), site(2, 30)}, Seconds(2)), ElementsAre(30, 0));
}

TEST(StackTroughs, KnowsABoundedNumberOfStacks) {
    StackTroughs troughs;
    troughs.know(raw(1, 0x1000, 20));
    (void)troughs.passing(std::vector{site(1, 0, 0, 30)}, Seconds(1));
    for (std::uint64_t id = 10; id < 10 + 3 * StackTroughs::kMostKnown; ++id) troughs.know(raw(id, id, 0));
    EXPECT_THAT(troughs.passing(std::vector{site(1, 30)}, Seconds(2)), ElementsAre(30)) << "a stack in use stays known";
    troughs.know(raw(2, 0x1000, 20));
    EXPECT_THAT(troughs.passing(std::vector{site(2, 20)}, Seconds(3)), ElementsAre(20)) << "and there is room again";
}

}  // namespace stack_troughs_test
}  // namespace memscope
