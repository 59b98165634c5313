#include <gmock/gmock.h>

#include "outputs/text/notices.h"

namespace memscope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Bytes gib(std::uint64_t n) { return {n << 30U}; }

MemoryState held(double percent, const char* owner = "own") {
    MemoryState memory;
    const Bytes held{static_cast<std::uint64_t>(percent / 100 * static_cast<double>(gib(100).n))};
    memory.unreclaimable = held;
    memory.candidates = {{owner, gib(100), held}};
    memory.effective = nearest_limit(memory.candidates);
    return memory;
}

struct Told {
    LimitMarks marks{};
    double time = 1000;
    std::vector<std::string> all{};

    std::vector<std::string> at(const MemoryState& memory) {
        time += 1;
        const auto lines = marks.tell(time, memory);
        all.insert(all.end(), lines.begin(), lines.end());
        return lines;
    }
    std::vector<std::string> at(double percent) { return at(held(percent)); }
    void stay(double percent, int seconds) {
        for (int i = 0; i < seconds; ++i) at(percent);
    }
};

TEST(LimitMarks, EachIsToldOnceOnTheWayUp) {
    Told told;
    EXPECT_THAT(told.at(49), IsEmpty());
    EXPECT_THAT(told.at(51), ElementsAre("51 GiB of unreclaimable memory, above 50 % of its own limit (100 GiB); 49 "
                                         "GiB of headroom"));
    EXPECT_THAT(told.at(60), IsEmpty());
    EXPECT_THAT(told.at(96), ElementsAre(HasSubstr("above 95 %"))) << "the highest of those that were passed";
    EXPECT_THAT(told.at(99), IsEmpty());
}

TEST(LimitMarks, ASizeThatWaversAroundAMarkMakesOneLine) {
    Told told;
    for (int i = 0; i < 600; ++i) told.at(i % 7 < 4 ? 90.4 : 87);
    EXPECT_THAT(told.all, ElementsAre(HasSubstr("above 90 %")));
}

TEST(LimitMarks, ReliefIsToldWhenItIsFivePointsBelow) {
    Told told;
    told.at(91);
    EXPECT_THAT(told.at(86), IsEmpty());
    EXPECT_THAT(told.at(84.9),
                ElementsAre("85 GiB of unreclaimable memory, fell below 90 % of its own limit (100 GiB)"));
    EXPECT_THAT(told.at(84), IsEmpty());
    EXPECT_THAT(told.at(91), ElementsAre(HasSubstr("above 90 %"))) << "it was left clearly";
}

TEST(LimitMarks, OrWhenItWasBelowForAMinute) {
    Told told;
    told.at(91);
    told.stay(89, 60);
    EXPECT_THAT(told.all, ElementsAre(HasSubstr("above 90 %")));
    EXPECT_THAT(told.at(89), ElementsAre(HasSubstr("fell below 90 %")));
    told.all.clear();
    told.stay(91, 60);
    EXPECT_THAT(told.all, IsEmpty()) << "it was not left clearly";
    EXPECT_THAT(told.at(91), ElementsAre(HasSubstr("above 90 %")));
}

TEST(LimitMarks, TheMinuteAboveBeginsAgainAfterEachFall) {
    Told told;
    told.at(91);
    told.stay(89, 61);
    told.all.clear();
    for (int i = 0; i < 10; ++i) {
        told.stay(91, 40);
        told.stay(89, 5);
    }
    EXPECT_THAT(told.all, IsEmpty());
}

TEST(LimitMarks, AHigherMarkIsToldAtOnceThoughALowerOneWaits) {
    Told told;
    told.at(91);
    told.stay(89, 61);
    EXPECT_THAT(told.at(96), ElementsAre(HasSubstr("above 95 %")));
}

TEST(LimitMarks, SlowWaveringIsAtMostALineAMinute) {
    Told told;
    for (int minute = 0; minute < 60; ++minute) told.stay(minute % 2 == 0 ? 90.5 : 89.5, 60);
    EXPECT_LE(told.all.size(), 60U);
}

TEST(LimitMarks, FromNinetyFiveToEightyEightIsNoRelief) {
    Told told;
    told.at(96);
    EXPECT_THAT(told.at(88), IsEmpty());
    EXPECT_THAT(told.at(84), ElementsAre(HasSubstr("fell below 90 %")));
}

TEST(LimitMarks, WhatIsHeldBelowTheLimitOfAnAncestorCounts) {
    Told told;
    MemoryState memory = held(92, "jobs");
    memory.unreclaimable = gib(2);
    EXPECT_THAT(told.at(memory),
                ElementsAre("92 GiB of unreclaimable memory (2.0 GiB of it by this job), above 90 % of "
                            "the limit of jobs (100 GiB); 8.0 GiB of headroom"));
}

TEST(LimitMarks, SwapCountsWhereTheLimitCountsIt) {
    Told told;
    MemoryState memory = held(92);
    memory.unreclaimable = gib(60);
    memory.swap = gib(32);
    EXPECT_THAT(told.at(memory), ElementsAre(HasSubstr("above 90 %")));
}

TEST(LimitMarks, TwoLimitsThatAlternateAreToldOnceEach) {
    Told told;
    for (int i = 0; i < 120; ++i) {
        MemoryState memory;
        // 3 GiB of headroom on both sides, and whose is less alternates: 70 % of one, 95 % of the other.
        memory.candidates = {{"own", gib(10), gib(7)}, {"host", gib(64), gib(61)}};
        memory.candidates[static_cast<std::size_t>(i % 2)].held += Bytes{4096};
        memory.effective = nearest_limit(memory.candidates);
        told.at(memory);
    }
    EXPECT_THAT(told.all, testing::UnorderedElementsAre(HasSubstr("above 95 % of the host's memory"),
                                                        HasSubstr("above 50 % of its own limit")));
}

TEST(LimitMarks, WithoutALimitThereAreNone) {
    Told told;
    told.at(96);
    EXPECT_THAT(told.at(MemoryState{}), IsEmpty());
    EXPECT_THAT(told.at(96), ElementsAre(HasSubstr("above 95 %"))) << "a limit that was set again";
}

}  // namespace
}  // namespace memscope
