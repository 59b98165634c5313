#include "model/growth/trough.h"

#include <gtest/gtest.h>

namespace memscope {
namespace trough_test {

TEST(Trough, IsAbsentWithoutAFree) {
    const Trough none;
    EXPECT_EQ(none.passing(Seconds{1000}, 500), 0);
}

TEST(Trough, MarksTheMemoryOfTheNextTrainingStepAsTemporary) {
    Trough trough;
    for (int step = 0; step < 10; ++step) {
        trough.note(Seconds{100.0 + step}, 60, 100);  // in the middle of the backward pass
        trough.note(Seconds{100.5 + step}, 0, 60);
    }
    EXPECT_EQ(trough.passing(Seconds{110}, 100), 100);
    trough.note(Seconds{110.2}, 60, 100);
    EXPECT_EQ(trough.passing(Seconds{110.3}, 60), 60);
}

TEST(Trough, RisesWithMemoryKeptBetweenTrainingSteps) {
    Trough trough;
    for (int second = 0; second < 300; ++second) trough.note(Seconds{100.0 + second}, 10 * second, 10 * second + 500);
    EXPECT_EQ(trough.passing(Seconds{400}, 3000 + 500), 500);
}

TEST(Trough, SmallFreesMarkLittleMemoryAsTemporary) {
    Trough trough;
    for (int second = 0; second < 20; ++second) trough.note(Seconds{100.0 + second}, 100 * second, 100 * second + 1);
    EXPECT_EQ(trough.passing(Seconds{120}, 2000), 1);
}

TEST(Trough, AddsUpAFallInManySteps) {
    Trough trough;
    for (int left = 9; left >= 0; --left) trough.note(Seconds{100}, 10 * left, 10 * left + 10);
    EXPECT_EQ(trough.passing(Seconds{101}, 300), 100);
}

TEST(Trough, UsesTheDeepestOfSeveralFalls) {
    Trough trough;
    trough.note(Seconds{100}, 40, 124, 4);  // 124 came after 40
    EXPECT_EQ(trough.passing(Seconds{101}, 124), 4);
    trough.note(Seconds{102}, 50, 70, 5);  // 124 came before 50
    EXPECT_EQ(trough.passing(Seconds{103}, 200), 74);
}

TEST(Trough, ExpiresIfNothingIsFreed) {
    Trough trough;
    trough.note(Seconds{100}, 0, 80);
    EXPECT_EQ(trough.passing(Seconds{105}, 80), 80);
    EXPECT_FALSE(trough.is_over(Seconds{105}));
    EXPECT_EQ(trough.passing(Seconds{161}, 80), 0);
    EXPECT_TRUE(trough.is_over(Seconds{161}));
}

TEST(Trough, AFloorAboveTheHeldMemoryMarksNothingAsTemporary) {
    Trough trough;
    trough.note(Seconds{100}, 90, 100);
    EXPECT_EQ(trough.passing(Seconds{101}, 70), 0);
}

}  // namespace trough_test
}  // namespace memscope
