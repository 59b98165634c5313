#include "view/compact.h"

#include <gtest/gtest.h>

namespace memscope::view {
namespace compact_test {

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

}  // namespace compact_test
}  // namespace memscope::view
