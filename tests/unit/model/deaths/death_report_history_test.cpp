#include <gmock/gmock.h>

#include "model/deaths/death_report.h"

namespace memscope {
namespace death_report_history_test {

TEST(HeldHistory, KeepsTheLastMinuteAsItWas) {
    HeldHistory history;
    for (int i = 0; i < 50; ++i) history.add({1000.0 + i, Bytes{static_cast<std::uint64_t>(i)}, {}});
    const auto points = history.points();
    ASSERT_EQ(points.size(), 50);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(points[static_cast<std::size_t>(i)].held.n, i);
}

TEST(HeldHistory, IsBoundedAndSpansHalfAnHour) {
    HeldHistory history;
    for (int i = 0; i < 100'000; ++i) history.add({1000.0 + i * 0.1, Bytes{1}, {}});
    const auto points = history.points();
    EXPECT_LE(points.size(), HeldHistory::kFine + HeldHistory::kBins + 1);
    EXPECT_NEAR(points.back().time - points.front().time, HeldHistory::kSpan, 2 * HeldHistory::kBinWidth);
    for (std::size_t i = 1; i < points.size(); ++i) EXPECT_LT(points[i - 1].time, points[i].time);
}

TEST(HeldHistory, APeakOutlivesItsBin) {
    HeldHistory history;
    for (int i = 0; i < 600; ++i) history.add({1000.0 + i, Bytes{i == 203 ? 900U : 100U}, {}});
    const auto points = history.points();
    EXPECT_LT(points.size(), 200);
    EXPECT_THAT(points, testing::Contains(testing::Field(&HeldPoint::held, Bytes{900})));
}

TEST(HeldHistory, AClockThatIsSetBackBeginsANewOne) {
    HeldHistory history;
    for (int i = 0; i < 100; ++i) history.add({5000.0 + i, Bytes{1}, {}});
    history.add({10.0, Bytes{2}, {}});
    ASSERT_EQ(history.points().size(), 1);
    EXPECT_EQ(history.points().front().held.n, 2);
}

TEST(HeldHistory, SamplesAnHourApartAreNotKeptForDays) {
    HeldHistory history;
    for (int i = 0; i < 30; ++i) history.add({3600.0 * i, Bytes{1}, {}});
    EXPECT_EQ(history.points().size(), 1);
}

}  // namespace death_report_history_test
}  // namespace memscope
