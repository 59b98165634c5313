#include "cli/recordings/moment.h"

#include <cstdlib>
#include <ctime>
#include <gmock/gmock.h>

namespace memscope {
namespace moment_test {

constexpr double kNow = 1'794'000'000;     // 2026-11-06T21:20:00Z
constexpr double kLatest = kNow - 3600.0;  // the end of a recording: 20:20:00Z

TEST(Moments, RelativeTimesCountFromNow) {
    EXPECT_EQ(*parse_moment("2h ago", kNow, kLatest), kNow - 7200);
    EXPECT_EQ(*parse_moment(" 90s ago ", kNow, kLatest), kNow - 90);
}

TEST(Moments, ATimeWithoutADateIsTheLastOneBeforeTheEnd) {
    EXPECT_EQ(*parse_moment("20:10Z", kNow, kLatest), kLatest - 600);
    EXPECT_EQ(*parse_moment("20:30Z", kNow, kLatest), kLatest + 600 - 86400);
    EXPECT_EQ(*parse_moment("20:10:05Z", kNow, kLatest), kLatest - 595);
}

TEST(Moments, ATimeWithADateIsThatMoment) {
    EXPECT_EQ(*parse_moment("2026-11-06T21:20:00Z", kNow, kLatest), kNow);
    EXPECT_EQ(*parse_moment("2026-11-06 21:20Z", kNow, kLatest), kNow);
}

TEST(Moments, ATimeWithoutZIsLocal) {
    const std::time_t now = static_cast<std::time_t>(kLatest);
    std::tm local{};
    ::localtime_r(&now, &local);
    char text[16];
    std::strftime(text, sizeof text, "%H:%M:%S", &local);
    EXPECT_EQ(*parse_moment(text, kNow, kLatest), kLatest);
}

TEST(Moments, RefusesTextsThatAreNoTime) {
    for (const char* text :
         {"", "ago", "2 ago", "25:00", "12:60", "12", "2026-13-01 00:00", "2026-11-06", "noon", "1:2:3:4"})
        EXPECT_FALSE(parse_moment(text, kNow, kLatest)) << text;
}

}  // namespace moment_test
}  // namespace memscope
