#include "cli/series/sample_text.h"

#include <gtest/gtest.h>

namespace memscope {
namespace sample_text_test {

TEST(SampleText, UnitsArePowersOf1024) {
    for (const char* unit : {"kB", "KB", "KiB", "k"}) EXPECT_EQ(parse_unit(unit), 1024) << unit;
    EXPECT_EQ(parse_unit("B"), 1);
    EXPECT_EQ(parse_unit("TiB"), 1024.0 * 1024 * 1024 * 1024);
    for (const char* other : {"", "x", "kbit", "i", "PB "}) EXPECT_EQ(parse_unit(other), std::nullopt) << other;
}

TEST(SampleText, AColumnNameCanContainTheUnit) {
    EXPECT_EQ(unit_in_name("rss_kb"), 1024);
    EXPECT_EQ(unit_in_name("memory.used [MiB]"), 1024.0 * 1024);
    EXPECT_EQ(unit_in_name("Memory (GB)"), 1024.0 * 1024 * 1024);
    EXPECT_EQ(unit_in_name("bytes"), 1);
    EXPECT_EQ(unit_in_name("rss_bytes"), 1);
    for (const char* name : {"rss", "time_t", "steps_k", "cpu %", ""})
        EXPECT_EQ(unit_in_name(name), std::nullopt) << name;
}

TEST(SampleText, TimesAreSecondsOrDates) {
    EXPECT_EQ(parse_sample_time("1.5"), 1.5);
    EXPECT_EQ(parse_sample_time("1970-01-02 00:00:01"), 86401);
    EXPECT_EQ(parse_sample_time("1970/01/01 00:00:01.250"), 1.25);
    EXPECT_EQ(parse_sample_time("1970-01-01T01:00:00+01:00"), 0);
    EXPECT_EQ(parse_sample_time("1970-01-01T00:00:05Z"), 5);
    for (const char* other : {"", "yesterday", "2026-13-01 00:00:00", "2026-02-30 00:00:00", "2026-01-01", "12:00:00",
                              "2026-01-01 25:00:00", "2026-01-01 00:61:00", "nan"})
        EXPECT_EQ(parse_sample_time(other), std::nullopt) << other;
}

TEST(SampleText, ClocksHave12Or24Hours) {
    EXPECT_EQ(parse_clock("15:04:05", ""), 15 * 3600 + 4 * 60 + 5);
    EXPECT_EQ(parse_clock("03:04:05", "PM"), 15 * 3600 + 4 * 60 + 5);
    EXPECT_EQ(parse_clock("12:30:00", "AM"), 30 * 60);
    EXPECT_EQ(parse_clock("12:30:00", "PM"), 12 * 3600 + 30 * 60);
    for (const char* other : {"15:04:05", "00:10:00", "", "x"})
        EXPECT_EQ(parse_clock(other, "PM"), std::nullopt) << other;
}

}  // namespace sample_text_test
}  // namespace memscope
