#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "demo/answers.h"
#include "demo/curves.h"

namespace memscope {
namespace answers_measures_test {

// One point a second.
Line line(const std::vector<std::uint64_t>& sizes_in_mebibytes) {
    Line made;
    for (const std::uint64_t size : sizes_in_mebibytes)
        made.push_back({Seconds{static_cast<double>(made.size())}, mebibytes(size)});
    return made;
}

TEST(Measures, AreZeroForALineWithoutPoints) {
    const Line none;
    for (const Bytes size :
         {first_of(none), last_of(none), lowest_of(none), highest_of(none), risen(none), swing(none)})
        EXPECT_EQ(size.n, 0U);
    EXPECT_EQ(bytes_per_second(none), 0);
    EXPECT_EQ(settled_at(none, {}), Seconds{0});
    EXPECT_TRUE(later_part(none, 0.5).empty());
    EXPECT_EQ(excursions(none, {1}).count, 0U);
    EXPECT_EQ(steps(none, {1}).count, 0U);
}

TEST(Measures, ARiseIsFromFirstToLastAndASwingFromLowestToHighest) {
    const Line made = line({50, 20, 90, 70});
    EXPECT_EQ(risen(made), mebibytes(20));
    EXPECT_EQ(swing(made), mebibytes(70));
    EXPECT_EQ(risen(line({50, 20})).n, 0U);
}

TEST(Measures, TheRateIsRiseOverTime) {
    EXPECT_DOUBLE_EQ(bytes_per_second(line({10, 18, 26})), 8.0 * (1 << 20));
    EXPECT_EQ(bytes_per_second(line({10})), 0);
}

TEST(Measures, TheLaterPartIsMeasuredInTimeNotInPoints) {
    Line made = line({1, 2, 3, 4});
    made.push_back({Seconds{30}, mebibytes(5)});
    EXPECT_EQ(later_part(made, 0.5).size(), 1U);
    EXPECT_EQ(later_part(made, 1).size(), 5U);
}

TEST(Measures, SettledAtIsTheLastReturnIntoTheTolerance) {
    EXPECT_EQ(settled_at(line({10, 60, 90, 99, 100, 100}), mebibytes(2)), Seconds{3});
    EXPECT_EQ(settled_at(line({100, 100, 10, 100}), mebibytes(2)), Seconds{3});
    EXPECT_EQ(settled_at(line({100, 101, 100}), mebibytes(2)), Seconds{0});
}

TEST(Measures, ExcursionsAreCountedOnceHoweverLongTheyAre) {
    const Excursions found = excursions(line({100, 220, 220, 100, 100, 220, 180, 101, 100, 220, 100}), mebibytes(60));
    EXPECT_EQ(found.count, 3U);
    EXPECT_EQ(found.height, mebibytes(120));
    EXPECT_DOUBLE_EQ(found.period.count(), 4);
}

TEST(Measures, AFlatLineHasNoExcursions) { EXPECT_EQ(excursions(line({100, 104, 100}), mebibytes(60)).count, 0U); }

TEST(Measures, AStepThatASampleCutsInHalfIsOneStep) {
    const Steps found = steps(line({100, 124, 124, 136, 148, 148, 172, 172}), mebibytes(12));
    EXPECT_EQ(found.count, 3U);
    EXPECT_EQ(found.size, mebibytes(24));
    EXPECT_DOUBLE_EQ(found.period.count(), 2.5);
}

TEST(Measures, ASmallRiseIsNoStepAndALargeRiseAtTheEndIsOne) {
    EXPECT_EQ(steps(line({100, 104, 104}), mebibytes(12)).count, 0U);
    EXPECT_EQ(steps(line({100, 100, 124}), mebibytes(12)).count, 1U);
}

TEST(LeakingLines, AreTheLinesThatWereNamedMostOften) {
    const auto moment = [](Verdict verdict, const char* line, double share) {
        return Moment{.verdict = verdict, .lines = GrowingLines{.most = line, .share = share, .keeps = true}};
    };
    const Observation seen{moment(Verdict::leaking, "step (train.py:9)", 0.8),
                           moment(Verdict::leaking, "step (train.py:9)", 0.9),
                           moment(Verdict::leaking, "usual_work (stage.py:81)", 0.7),
                           moment(Verdict::stable, "usual_work (stage.py:81)", 0.7)};
    const auto lines = leaking_lines(seen);
    ASSERT_TRUE(lines);
    EXPECT_EQ(lines->most, "step (train.py:9)");
    EXPECT_EQ(lines->share, 0.9);
    EXPECT_FALSE(leaking_lines({moment(Verdict::stable, "step (train.py:9)", 1)}));
}

}  // namespace answers_measures_test
}  // namespace memscope
