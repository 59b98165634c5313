#include "analysis/verdict/statistics.h"

#include <gtest/gtest.h>

namespace memscope {
namespace statistics_test {

TEST(Statistics, ALineThroughAnyRunOfPoints) {
    const std::vector<double> at{0, 1, 2, 3, 4};
    const std::vector<double> values{9, 1, 3, 5, 9};
    const Line line = LineFits(at, values).line(1, 4);
    EXPECT_DOUBLE_EQ(line.slope, 2);
    EXPECT_DOUBLE_EQ(line.value(10), 19);
    EXPECT_NEAR(line.squares, 0, 1e-9);
}

TEST(Statistics, MediansAndQuantiles) {
    EXPECT_EQ(median_value({}), 0);
    EXPECT_EQ(median_value({3, 1, 2}), 2);
    EXPECT_EQ(median_value({4, 1, 2, 3}), 2.5);
    EXPECT_EQ(quantile({5, 1, 4, 2, 3}, 1), 5);
    EXPECT_EQ(quantile({5, 1, 4, 2, 3}, 0), 1);
}

}  // namespace statistics_test
}  // namespace memscope
