#include "base/units.h"

#include <gtest/gtest.h>

namespace memscope {
namespace units_test {

TEST(Size, TakesPowersOf1024) {
    EXPECT_EQ(*parse_size("4096"), Bytes{4096});
    EXPECT_EQ(*parse_size("10B"), Bytes{10});
    EXPECT_EQ(*parse_size("512M"), Bytes{512ULL << 20});
    EXPECT_EQ(*parse_size("1.5G"), Bytes{3ULL << 29});
    EXPECT_EQ(*parse_size("2T"), Bytes{2ULL << 40});
}

TEST(Size, RefusesInvalidText) {
    for (const char* text : {"", "G", "-1", "-1M", "1X", "1 G", "1e3", "0x10", "nan", "inf", "1GG", "99999999999T"})
        EXPECT_FALSE(parse_size(text)) << text;
}

TEST(Size, SaysInTheErrorWhatToWrite) {
    const auto size = parse_size("many");
    ASSERT_FALSE(size);
    EXPECT_EQ(size.error().message(), "'many' is not a size; write 512M, 1.5G or a number of bytes");
}

TEST(Duration, NeedsAUnit) {
    EXPECT_EQ(*parse_duration("500ms"), Seconds(0.5));
    EXPECT_EQ(*parse_duration("1.5s"), Seconds(1.5));
    EXPECT_EQ(*parse_duration("5m"), Seconds(300));
    EXPECT_EQ(*parse_duration("2h"), Seconds(7200));
    for (const char* text : {"5", "", "s", "-1s", "1d", "1 s"}) EXPECT_FALSE(parse_duration(text)) << text;
}

TEST(Bytes, NeverFallBelowZero) {
    EXPECT_EQ(Bytes{3} - Bytes{5}, Bytes{0});
    EXPECT_EQ(Bytes{5} - Bytes{3}, Bytes{2});
}

TEST(Limit, IsFiniteOrNot) {
    EXPECT_FALSE(finite(Limit{Unlimited{}}));
    EXPECT_EQ(finite(Limit{Bytes{7}}), Bytes{7});
    EXPECT_FALSE(finite(Limit{})) << "a limit that was not read must not be 0";
}

TEST(HumanSize, KeepsTwoDigitsThatMatter) {
    EXPECT_EQ(human_size(Bytes{0}), "0 B");
    EXPECT_EQ(human_size(Bytes{1023}), "1023 B");
    EXPECT_EQ(human_size(Bytes{1024}), "1.0 KiB");
    EXPECT_EQ(human_size(Bytes{312 << 10}), "312 KiB");
    EXPECT_EQ(human_size(Bytes{(1ULL << 30) - 1}), "1.0 GiB");
    EXPECT_EQ(human_size(Bytes{~0ULL}), "16384 PiB");
}

TEST(HumanDuration, PicksAUnit) {
    EXPECT_EQ(human_duration(Seconds(0.25)), "250 ms");
    EXPECT_EQ(human_duration(Seconds(45)), "45 s");
    EXPECT_EQ(human_duration(Seconds(720)), "12 min");
    EXPECT_EQ(human_duration(Seconds(11520)), "3.2 h");
}

}  // namespace units_test
}  // namespace memscope
