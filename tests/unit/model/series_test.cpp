#include "model/series.h"

#include <gmock/gmock.h>

namespace memscope {
namespace series_test {

Series of(std::initializer_list<std::pair<double, std::uint64_t>> samples) {
    Series series;
    for (const auto& [time, bytes] : samples) series.add(Seconds(time), Bytes{bytes});
    return series;
}

std::uint64_t samples_in(const std::vector<Bin>& bins) {
    std::uint64_t n = 0;
    for (const Bin& bin : bins) n += bin.count;
    return n;
}

TEST(Series, KeepsAllSamplesOfAShortSeries) {
    const Series series = of({{100, 7}, {101, 9}, {105.5, 8}});
    const auto bins = series.bins();
    ASSERT_EQ(bins.size(), 3U);
    EXPECT_EQ(bins[1].low, 9);
    EXPECT_EQ(bins[2].low_at, 5.5);
    EXPECT_EQ(series.began(), Seconds(100));
    EXPECT_EQ(series.length(), 5.5);
    EXPECT_EQ(series.latest(), Bytes{8});
    EXPECT_EQ(series.peak(), Bytes{9});
}

TEST(Series, NothingIsThereBeforeTheFirstSample) {
    const Series series;
    EXPECT_TRUE(series.bins().empty());
    EXPECT_EQ(series.count(), 0U);
}

TEST(Series, TimeThatRunsBackIsLeftOutAndCounted) {
    const Series series = of({{10, 5}, {9, 1}, {11, 6}});
    EXPECT_EQ(series.count(), 2U);
    EXPECT_EQ(series.left_out(), 1U);
    EXPECT_EQ(series.bins().front().low, 5);
}

TEST(Series, KeepsTheLowestOfSamplesWithEqualTimes) {
    const Series series = of({{0, 5}, {1, 9}, {1, 7}, {1, 8}, {2, 5}});
    const auto bins = series.bins();
    ASSERT_EQ(bins.size(), 3U);
    EXPECT_EQ(bins[1].low, 7);
}

TEST(Series, DaysStayBoundedAndNothingCountsTwice) {
    Series series;
    constexpr int kThreeDays = 3 * 86400;
    for (int t = 0; t < kThreeDays; ++t)
        series.add(Seconds(t), Bytes{1000U + static_cast<unsigned>(t % 40 == 7) * 500U});
    const auto bins = series.bins();
    EXPECT_LT(bins.size(), 2900U);
    EXPECT_EQ(samples_in(bins), static_cast<std::uint64_t>(kThreeDays));
    double before = -1;
    for (const Bin& bin : bins) {
        EXPECT_GT(std::min(bin.low_at, bin.high_at), before);
        before = std::max(bin.low_at, bin.high_at);
    }
}

TEST(Series, TheLowestAndTheHighestSurviveDays) {
    Series series;
    for (int t = 0; t < 200000; ++t) series.add(Seconds(t), Bytes{t == 777 ? 3U : t == 1234 ? 99U : 50U});
    double low = 50;
    double high = 50;
    double low_at = 0;
    double high_at = 0;
    for (const Bin& bin : series.bins()) {
        low = std::min(low, bin.low);
        high = std::max(high, bin.high);
        if (bin.low == 3) low_at = bin.low_at;
        if (bin.high == 99) high_at = bin.high_at;
    }
    EXPECT_EQ(low, 3);
    EXPECT_EQ(high, 99);
    EXPECT_NEAR(low_at, 777, 0.1);
    EXPECT_NEAR(high_at, 1234, 0.1);
}

TEST(Series, TheLastMinutesStayFineAfterDays) {
    Series series;
    for (int t = 0; t < 3 * 86400; ++t) series.add(Seconds(t), Bytes{1});
    EXPECT_GE(series.recent().size(), 512U);
    const auto last_hour = series.bins(series.length() - 3600);
    EXPECT_GT(last_hour.size(), 500U);
}

TEST(Series, AGapHasNoSamples) {
    Series series;
    for (int t = 0; t < 600; ++t) series.add(Seconds(t), Bytes{5});
    for (int t = 90000; t < 90600; ++t) series.add(Seconds(t), Bytes{6});
    for (const Bin& bin : series.bins()) EXPECT_TRUE(bin.low_at < 600 || bin.low_at >= 89999) << bin.low_at;
    EXPECT_EQ(samples_in(series.bins()), 1200U);
}

TEST(Series, BinsSinceATimeContainNothingOlder) {
    Series series;
    for (int t = 0; t < 50000; ++t) series.add(Seconds(t), Bytes{static_cast<std::uint64_t>(t)});
    for (const Bin& bin : series.bins(20000)) EXPECT_GE(bin.low_at, 20000);
}

TEST(Series, ReadingChangesNothing) {
    Series looked_at;
    Series left_alone;
    for (int t = 0; t < 5000; ++t) {
        const Bytes bytes{static_cast<std::uint64_t>((t * 7919) % 1000)};
        looked_at.add(Seconds(t), bytes);
        left_alone.add(Seconds(t), bytes);
        if (t % 100 == 0) {
            EXPECT_FALSE(looked_at.bins().empty());
        }
    }
    const auto a = looked_at.bins();
    const auto b = left_alone.bins();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].low, b[i].low);
}

}  // namespace series_test
}  // namespace memscope
