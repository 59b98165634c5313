#include <gtest/gtest.h>

#include "outputs/text/text_layout.h"
#include "view/history.h"

namespace memscope::view {
namespace history_sparkline_test {

TEST(Sparkline, SpansFromTheLowestToTheHighest) { EXPECT_EQ(sparkline({{0, 50, 100}, 3}, 3), "▁▄█"); }

TEST(Sparkline, EqualValuesAreALineInTheMiddle) { EXPECT_EQ(sparkline({{7, 7, 7}, 3}, 3), "▄▄▄"); }

TEST(Sparkline, ZerosAreALineAtTheBottom) { EXPECT_EQ(sparkline({{0, 0, 0}, 3}, 3), "▁▁▁"); }

TEST(Sparkline, NoiseOfOnePercentStaysFlat) {
    const std::string drawn = sparkline({{1000, 1005, 1000, 1010}, 4}, 4);
    EXPECT_EQ(drawn.find("█"), std::string::npos);
    EXPECT_EQ(drawn.find("▁"), std::string::npos);
}

TEST(Sparkline, TheNewestStandsAtTheRightEdge) {
    EXPECT_EQ(sparkline({{5}, 1}, 4), "   ▄");
    EXPECT_EQ(sparkline({}, 4), "    ");
    EXPECT_EQ(sparkline({{1, 2}, 2}, 0), "");
}

TEST(Sparkline, AFullColumnDoesNotChangeWhenTicksCome) {
    Series series;
    std::string before;
    for (std::uint64_t tick = 1; tick <= 400; ++tick) {
        if (series.values.size() == 120) series.values.erase(series.values.begin());
        series.values.push_back(tick / 12 % 3 * 50);
        series.last_tick = tick;
        const std::string now = sparkline(series, 10);
        EXPECT_EQ(display_width(now), 10);
        if (tick > 130 && tick % 12 != 0) {  // no new column begins: all but the newest stay
            EXPECT_EQ(now.substr(0, 27), before.substr(0, 27)) << tick;
        }
        before = now;
    }
}

TEST(Sparkline, TheLargestNumbersFit) { EXPECT_EQ(sparkline({{0, ~0ULL}, 2}, 2), "▁█"); }

}  // namespace history_sparkline_test
}  // namespace memscope::view
