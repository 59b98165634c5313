#include <gtest/gtest.h>

#include "outputs/text/text_layout.h"
#include "view/compact.h"
#include "view/history.h"

namespace memscope::view {
namespace history_sparkline_test {

TEST(Sparkline, SpansFromTheLowestToTheHighest) { EXPECT_EQ(sparkline({{0, 50, 100}, 3}, 3), "▁▄█"); }

TEST(Sparkline, EqualValuesAreALineInTheMiddle) { EXPECT_EQ(sparkline({{7, 7, 7}, 3}, 3), "▄▄▄"); }

TEST(Sparkline, NothingIsALineAtTheBottom) { EXPECT_EQ(sparkline({{0, 0, 0}, 3}, 3), "▁▁▁"); }

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

TEST(Compact, SizesTakeFourColumns) {
    EXPECT_EQ(compact_size({0}), "0");
    EXPECT_EQ(compact_size({1}), "0K");
    EXPECT_EQ(compact_size({4096}), "4K");
    EXPECT_EQ(compact_size({1023ULL << 20U}), "1.0G");
    EXPECT_EQ(compact_size({1900ULL << 20U}), "1.9G");
    EXPECT_EQ(compact_size({41ULL << 30U}), "41G");
    for (std::uint64_t n = 1; n != 0; n <<= 1U)
        for (const std::uint64_t size : {n - 1, n, n + 1}) EXPECT_LE(compact_size({size}).size(), 4) << size;
}

TEST(Compact, ChangesHaveASignAndNoiseIsZero) {
    EXPECT_EQ(compact_change(8.0 * (1 << 20)), "+8.0M");
    EXPECT_EQ(compact_change(-312.0 * 1024), "-312K");
    EXPECT_EQ(compact_change(100.0), "0");
    EXPECT_EQ(compact_change(std::nullopt), "-");
    for (double rate = 1; rate < 1e300; rate *= 1.9) EXPECT_LE(compact_change(-rate).size(), 5) << rate;
}

TEST(Compact, CountsAreInThousands) {
    EXPECT_EQ(compact_count(7.0), "7");
    EXPECT_EQ(compact_count(999.4), "999");
    EXPECT_EQ(compact_count(1234.0), "1.2k");
    EXPECT_EQ(compact_count(35000.0), "35k");
    EXPECT_EQ(compact_count(std::nullopt), "-");
    for (double count = 1; count < 1e300; count *= 1.9) EXPECT_LE(compact_count(count).size(), 4) << count;
}

}  // namespace history_sparkline_test
}  // namespace memscope::view
