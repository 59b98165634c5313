#include <gmock/gmock.h>

#include "outputs/text/notices.h"

namespace memscope {
namespace notices_limit_marks_test {

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

struct Reported {
    LimitMarks marks{};
    double time = 1000;
    std::vector<std::string> all{};

    std::vector<std::string> at(const MemoryState& memory) {
        time += 1;
        const auto lines = marks.lines_at(time, memory);
        all.insert(all.end(), lines.begin(), lines.end());
        return lines;
    }
    std::vector<std::string> at(double percent) { return at(held(percent)); }
    void stay(double percent, int seconds) {
        for (int i = 0; i < seconds; ++i) at(percent);
    }
};

TEST(LimitMarks, EachMarkHasOneLineOnTheWayUp) {
    Reported reported;
    EXPECT_THAT(reported.at(49), IsEmpty());
    EXPECT_THAT(reported.at(51),
                ElementsAre("51 GiB of unreclaimable memory, above 50 % of its own limit (100 GiB); 49 "
                            "GiB of headroom"));
    EXPECT_THAT(reported.at(60), IsEmpty());
    EXPECT_THAT(reported.at(96), ElementsAre(HasSubstr("above 95 %"))) << "the highest of those that were passed";
    EXPECT_THAT(reported.at(99), IsEmpty());
}

TEST(LimitMarks, ASizeThatVariesAroundAMarkMakesOneLine) {
    Reported reported;
    for (int i = 0; i < 600; ++i) reported.at(i % 7 < 4 ? 90.4 : 87);
    EXPECT_THAT(reported.all, ElementsAre(HasSubstr("above 90 %")));
}

TEST(LimitMarks, FallingBelowAMarkHasALineAfterFivePoints) {
    Reported reported;
    reported.at(91);
    EXPECT_THAT(reported.at(86), IsEmpty());
    EXPECT_THAT(reported.at(84.9),
                ElementsAre("85 GiB of unreclaimable memory, fell below 90 % of its own limit (100 GiB)"));
    EXPECT_THAT(reported.at(84), IsEmpty());
    EXPECT_THAT(reported.at(91), ElementsAre(HasSubstr("above 90 %"))) << "it was left clearly";
}

TEST(LimitMarks, AMinuteBelowAMarkHasALine) {
    Reported reported;
    reported.at(91);
    reported.stay(89, 60);
    EXPECT_THAT(reported.all, ElementsAre(HasSubstr("above 90 %")));
    EXPECT_THAT(reported.at(89), ElementsAre(HasSubstr("fell below 90 %")));
    reported.all.clear();
    reported.stay(91, 60);
    EXPECT_THAT(reported.all, IsEmpty()) << "it was not left clearly";
    EXPECT_THAT(reported.at(91), ElementsAre(HasSubstr("above 90 %")));
}

TEST(LimitMarks, TheMinuteAboveBeginsAgainAfterEachFall) {
    Reported reported;
    reported.at(91);
    reported.stay(89, 61);
    reported.all.clear();
    for (int i = 0; i < 10; ++i) {
        reported.stay(91, 40);
        reported.stay(89, 5);
    }
    EXPECT_THAT(reported.all, IsEmpty());
}

TEST(LimitMarks, AHigherMarkHasItsLineAtOnceAlthoughALowerOneWaits) {
    Reported reported;
    reported.at(91);
    reported.stay(89, 61);
    EXPECT_THAT(reported.at(96), ElementsAre(HasSubstr("above 95 %")));
}

TEST(LimitMarks, ASlowChangeAroundAMarkMakesAtMostALineAMinute) {
    Reported reported;
    for (int minute = 0; minute < 60; ++minute) reported.stay(minute % 2 == 0 ? 90.5 : 89.5, 60);
    EXPECT_LE(reported.all.size(), 60U);
}

TEST(LimitMarks, FallingFromNinetyFiveToEightyEightHasNoLine) {
    Reported reported;
    reported.at(96);
    EXPECT_THAT(reported.at(88), IsEmpty());
    EXPECT_THAT(reported.at(84), ElementsAre(HasSubstr("fell below 90 %")));
}

TEST(LimitMarks, MemoryOfOtherJobsBelowTheLimitOfAnAncestorCounts) {
    Reported reported;
    MemoryState memory = held(92, "jobs");
    memory.unreclaimable = gib(2);
    EXPECT_THAT(reported.at(memory),
                ElementsAre("92 GiB of unreclaimable memory (2.0 GiB of it by this job), above 90 % of "
                            "the limit of jobs (100 GiB); 8.0 GiB of headroom"));
}

TEST(LimitMarks, SwapCountsIfTheLimitIncludesIt) {
    Reported reported;
    MemoryState memory = held(92);
    memory.unreclaimable = gib(60);
    memory.swap = gib(32);
    EXPECT_THAT(reported.at(memory), ElementsAre(HasSubstr("above 90 %")));
}

TEST(LimitMarks, TwoLimitsThatAlternateHaveOneLineEach) {
    Reported reported;
    for (int i = 0; i < 120; ++i) {
        MemoryState memory;
        // Both limits have 3 GiB of headroom (at 70 % and at 95 %). The limit with the least headroom alternates.
        memory.candidates = {{"own", gib(10), gib(7)}, {"host", gib(64), gib(61)}};
        memory.candidates[static_cast<std::size_t>(i % 2)].held += Bytes{4096};
        memory.effective = nearest_limit(memory.candidates);
        reported.at(memory);
    }
    EXPECT_THAT(reported.all, testing::UnorderedElementsAre(HasSubstr("above 95 % of the host's memory"),
                                                            HasSubstr("above 50 % of its own limit")));
}

TEST(LimitMarks, WithoutALimitThereAreNoLines) {
    Reported reported;
    reported.at(96);
    EXPECT_THAT(reported.at(MemoryState{}), IsEmpty());
    EXPECT_THAT(reported.at(96), ElementsAre(HasSubstr("above 95 %"))) << "a limit that was set again";
}

}  // namespace notices_limit_marks_test
}  // namespace memscope
