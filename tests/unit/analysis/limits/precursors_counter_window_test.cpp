#include <gtest/gtest.h>

#include "analysis/limits/precursors.h"

namespace memscope {
namespace precursors_counter_window_test {

TEST(CounterWindow, KnowsNothingBeforeItsSecondValue) {
    CounterWindow window(Seconds{60});
    EXPECT_FALSE(window.rise());
    window.add(Seconds{5}, 1000);
    EXPECT_FALSE(window.rise());
    window.add(Seconds{6}, 1003);
    EXPECT_DOUBLE_EQ(*window.rise(), 3);
    EXPECT_FALSE(window.is_full());
}

TEST(CounterWindow, CountsTheLastSecondsOnly) {
    CounterWindow window(Seconds{60});
    for (int t = 0; t <= 300; ++t) window.add(Seconds(t), t < 200 ? 5.0 * t : 1000);
    EXPECT_TRUE(window.is_full());
    EXPECT_DOUBLE_EQ(*window.rise(), 0);
    for (int t = 301; t <= 330; ++t) window.add(Seconds(t), 1000 + 2.0 * (t - 300));
    EXPECT_NEAR(*window.rise(), 60, 1e-9);
}

TEST(CounterWindow, SpreadsTheRiseDuringAGapEvenly) {
    CounterWindow window(Seconds{60});
    window.add(Seconds{0}, 0);
    window.add(Seconds{600}, 100);
    EXPECT_NEAR(*window.rise(), 10, 1e-9);
}

TEST(CounterWindow, StartsAgainIfTheCounterFalls) {
    CounterWindow window(Seconds{60});
    window.add(Seconds{0}, 500);
    window.add(Seconds{10}, 700);
    window.add(Seconds{20}, 3);
    EXPECT_FALSE(window.rise());
    window.add(Seconds{30}, 5);
    EXPECT_DOUBLE_EQ(*window.rise(), 2);
}

TEST(CounterWindow, IgnoresTimeThatDoesNotAdvance) {
    CounterWindow window(Seconds{60});
    window.add(Seconds{10}, 1);
    window.add(Seconds{10}, 2);
    window.add(Seconds{3}, 9);
    EXPECT_FALSE(window.rise());
    window.add(Seconds{11}, 4);
    EXPECT_DOUBLE_EQ(*window.rise(), 3);
}

TEST(CounterWindow, IsExactToOnePartInSixtyFourHoweverOftenItIsCalled) {
    CounterWindow window(Seconds{60});
    double total = 0;
    for (int tick = 0; tick <= 200'000; ++tick) window.add(Seconds(tick * 0.01), total += tick % 100 == 0 ? 1 : 0);
    EXPECT_NEAR(*window.rise(), 60, 1.01);
}

}  // namespace precursors_counter_window_test
}  // namespace memscope
