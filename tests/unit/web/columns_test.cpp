#include "web/columns.h"

#include <cmath>
#include <gmock/gmock.h>
#include <random>

namespace memscope::web {
namespace columns_test {

using testing::ElementsAre;
using testing::SizeIs;

const SeriesName kHeld{"held", "held", "main"};
const SeriesName kRole{"role:a", "a", "role"};

struct Point {
    double time;
    double value;
};

void add(Columns& columns, const SeriesName& name, double time, double value) {
    const Columns::Value values[] = {{*columns.find_or_add(name), {value, value, value}}};
    columns.add(time, values);
}

Thinned thinned(const Columns& columns, double from, double to, std::size_t width) {
    const Columns* const all[] = {&columns};
    return thin(all, from, to, width);
}

// Checks the result of thin() against a computation in the simplest way.
void expect_brute_force(const Thinned& made, const std::vector<Point>& points, double from, double to,
                        std::size_t width) {
    std::size_t at = 0;
    for (std::size_t bin = 0; bin < width; ++bin) {
        const double begin = from + static_cast<double>(bin) * (to - from) / static_cast<double>(width);
        std::vector<double> values;
        for (const Point& point : points) {
            if (point.time < from || point.time > to) continue;
            const auto number = std::min(
                width - 1, static_cast<std::size_t>((point.time - from) / ((to - from) / static_cast<double>(width))));
            if (number == bin) values.push_back(point.value);
        }
        if (values.empty()) continue;
        ASSERT_LT(at, made.times.size());
        EXPECT_DOUBLE_EQ(made.times[at], begin);
        const Columns::Cell& cell = made.curves.front().cells[at];
        EXPECT_EQ(cell.low, *std::ranges::min_element(values));
        EXPECT_EQ(cell.high, *std::ranges::max_element(values));
        double sum = 0;
        for (const double value : values) sum += value;
        EXPECT_NEAR(cell.mean, sum / static_cast<double>(values.size()), 1e-6 * sum);
        ++at;
    }
    EXPECT_EQ(at, made.times.size());
}

TEST(Thinning, MatchesABruteForceCalculation) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> steps(0.1, 5), sizes(1, 1e12);
    Columns columns(1'000'000);
    std::vector<Point> points;
    double time = 1000;
    for (int i = 0; i < 3000; ++i) {
        time += steps(random);
        points.push_back({time, std::floor(sizes(random))});
        add(columns, kHeld, points.back().time, points.back().value);
    }
    for (const std::size_t width : {16U, 100U, 999U, 4000U}) {
        expect_brute_force(thinned(columns, 1000, time, width), points, 1000, time, width);
        expect_brute_force(thinned(columns, 2000, 2500, width), points, 2000, 2500, width);
    }
}

TEST(Thinning, HasNoBinsOutsideTheData) {
    Columns columns(1000);
    add(columns, kHeld, 10, 5);
    EXPECT_THAT(thinned(columns, 20, 30, 10).times, SizeIs(0));
    EXPECT_THAT(thinned(columns, 20, 30, 10).curves, SizeIs(0));
    const Thinned moment = thinned(columns, 10, 10, 10);  // no time at all
    EXPECT_THAT(moment.times, ElementsAre(10));
    EXPECT_EQ(moment.curves.front().cells.front().mean, 5);
}

TEST(Thinning, ASeriesWithoutAValueInABinHasNone) {
    Columns columns(1000);
    add(columns, kHeld, 0, 5);
    add(columns, kRole, 1, 7);
    const Thinned made = thinned(columns, 0, 2, 2);
    ASSERT_THAT(made.curves, SizeIs(2));
    EXPECT_THAT(made.times, ElementsAre(0, 1));
    EXPECT_EQ(made.curves[0].cells[0].mean, 5);
    EXPECT_TRUE(std::isnan(made.curves[0].cells[1].mean));
    EXPECT_TRUE(std::isnan(made.curves[1].cells[0].low));
    EXPECT_EQ(made.curves[1].cells[1].high, 7);
}

TEST(Columns, StayBoundedAndKeepTheExtremes) {
    Columns columns(1000);
    double highest = 0, lowest = 1e18, sum = 0;
    std::mt19937 random(2);
    std::uniform_real_distribution<double> sizes(1, 1e9);
    for (int i = 0; i < 10'000; ++i) {
        const double value = sizes(random);
        highest = std::max(highest, value);
        lowest = std::min(lowest, value);
        sum += value;
        add(columns, kHeld, i, value);
        ASSERT_LE(columns.rows(), 1000U);
    }
    const Thinned made = thinned(columns, 0, 10'000, 1);
    EXPECT_EQ(made.curves.front().cells.front().low, lowest);
    EXPECT_EQ(made.curves.front().cells.front().high, highest);
    EXPECT_NEAR(made.curves.front().cells.front().mean, sum / 10'000, 1e-6 * sum / 10'000);
}

TEST(Columns, RowsMayComeInAnyOrder) {
    Columns columns(8);
    for (const double time : {5, 1, 4, 2, 3, 9, 7, 8, 6, 0}) add(columns, kHeld, time, 10 * time);
    const Thinned made = thinned(columns, 0, 9, 1);
    EXPECT_EQ(made.curves.front().cells.front().high, 90);
    EXPECT_EQ(made.curves.front().cells.front().low, 0);
    EXPECT_DOUBLE_EQ(made.curves.front().cells.front().mean, 45);
}

TEST(Columns, HaveABoundedNumberOfSeries) {
    Columns columns(100);
    for (std::size_t i = 0; i < Columns::kMostSeries; ++i)
        EXPECT_EQ(columns.find_or_add({std::to_string(i), "", ""}), i);
    EXPECT_EQ(columns.find_or_add({"one more", "", ""}), std::nullopt);
    EXPECT_EQ(columns.find_or_add({"7", "", ""}), 7U);
}

// The watcher keeps 10 s bins of ticks that it has removed.
TEST(Columns, RangesStandForRemovedTicks) {
    Columns columns(1000);
    add(columns, kHeld, 105, 50);  // a tick that was kept
    const std::size_t held = *columns.find_or_add(kHeld);
    columns.add_ranges(held, 100, {{Seconds{0}, {10}, {90}}, {Seconds{10}, {20}, {40}}, {Seconds{20}, {5}, {5}}},
                       Seconds{10});
    const Thinned made = thinned(columns, 100, 130, 3);
    ASSERT_THAT(made.times, ElementsAre(100, 110, 120));
    const auto& cells = made.curves.front().cells;
    EXPECT_EQ(cells[0].low, 10);
    EXPECT_EQ(cells[0].high, 90);
    EXPECT_EQ(cells[0].mean, 50);  // only the tick counts, not the range
    EXPECT_EQ(cells[1].low, 20);
    EXPECT_EQ(cells[1].mean, 30);  // the middle
    EXPECT_EQ(cells[2].mean, 5);
}

TEST(Columns, RangesThatTicksCoverAddNothing) {
    Columns columns(1000);
    for (int i = 0; i < 10; ++i) add(columns, kHeld, 100 + i, 10 + i);
    columns.add_ranges(*columns.find_or_add(kHeld), 100, {{Seconds{0}, {10}, {19}}}, Seconds{10});
    EXPECT_EQ(columns.rows(), 10U);
}

}  // namespace columns_test
}  // namespace memscope::web
