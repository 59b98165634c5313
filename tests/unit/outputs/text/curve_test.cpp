#include "outputs/text/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "outputs/text/text_layout.h"

namespace memscope {
namespace curve_test {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr Bytes mib(std::uint64_t n) { return {n << 20U}; }

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for_each_line(text, [&](std::string_view line) { lines.emplace_back(line); });
    return lines;
}

std::string drawn(const std::vector<CurvePoint>& points, const CurveLook& look) {
    return curve_text(draw_curve(points, look));
}

const std::vector<CurvePoint> kRising{{0, mib(0)}, {50, mib(50)}, {100, mib(100)}};

TEST(Curve, ARisingLineGoesFromCornerToCorner) {
    const auto lines =
        lines_of(drawn(kRising, {.width = 30, .height = 7, .limit = mib(100), .first = "0 s", .last = "now"}));
    ASSERT_EQ(lines.size(), 7U);
    EXPECT_EQ(lines[0], " 100 MiB ┤╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌⣀⠤⠒⠉");
    EXPECT_EQ(lines[2], "  60 MiB ┤        ⣀⠤⠒⠉");
    EXPECT_EQ(lines[5], "       0 └────────────────────");
    EXPECT_EQ(lines[6], "          0 s              now");
}

TEST(Curve, EveryLineHasTheGivenWidthAtMost) {
    for (std::size_t width = kLeastCurveWidth; width < 130; width += 7)
        for (std::size_t height = kLeastCurveHeight; height < 30; height += 3) {
            const auto rows = draw_curve(
                kRising, {.width = width, .height = height, .limit = mib(90), .first = "0 s", .last = "100 s"});
            ASSERT_EQ(rows.size(), height);
            for (const CurveRow& row : rows) {
                std::size_t sum = 0;
                for (const CurvePiece& piece : row) sum += display_width(piece.text);
                EXPECT_EQ(sum, width) << curve_text({row});
            }
        }
}

TEST(Curve, TheLimitIsNamedWhereTheCurveLeavesRoom) {
    const CurveLook narrow{.width = 30, .height = 7, .limit = mib(100)},
        wide{.width = 60, .height = 7, .limit = mib(100)};
    EXPECT_THAT(drawn(kRising, wide), HasSubstr("┤╌╌ limit 100 MiB ╌╌"));
    EXPECT_THAT(drawn(kRising, narrow), Not(HasSubstr("limit")));
}

TEST(Curve, TooLittleRoomOrTimeIsNoCurve) {
    EXPECT_TRUE(draw_curve(kRising, {.width = kLeastCurveWidth - 1}).empty());
    EXPECT_TRUE(draw_curve(kRising, {.width = 80, .height = kLeastCurveHeight - 1}).empty());
    EXPECT_TRUE(draw_curve({}, {}).empty());
    EXPECT_TRUE(draw_curve(std::vector<CurvePoint>{{1, mib(1)}}, {}).empty());
    EXPECT_TRUE(draw_curve(std::vector<CurvePoint>{{1, mib(1)}, {1, mib(2)}}, {}).empty());
}

TEST(Curve, ASpikeBetweenTwoColumnsIsSeen) {
    std::vector<CurvePoint> points;
    for (int i = 0; i < 10'000; ++i) points.push_back({static_cast<double>(i), i == 5'000 ? mib(100) : mib(1)});
    const auto lines = lines_of(drawn(points, {.width = 60, .height = 8, .limit = mib(100)}));
    EXPECT_THAT(lines[1], AnyOf(HasSubstr("⡇"), HasSubstr("⢸"))) << lines[1];
}

TEST(Curve, ALimitFarAboveIsNamedAndNotDrawn) {
    const std::string text = drawn(kRising, {.width = 60, .height = 8, .limit = mib(4096)});
    EXPECT_THAT(text, AllOf(HasSubstr("limit 4.0 GiB is far above"), Not(HasSubstr("╌")), HasSubstr("110 MiB ┤")));
    EXPECT_THAT(drawn(kRising, {.width = 60, .height = 8}), Not(HasSubstr("limit")));
}

TEST(Curve, ALimitThatWasExceededIsBelowTheTop) {
    const auto lines = lines_of(drawn(kRising, {.width = 60, .height = 12, .limit = mib(50)}));
    EXPECT_THAT(lines[0], Not(HasSubstr("╌")));
    EXPECT_THAT(lines[5], HasSubstr("limit 50 MiB"));
}

TEST(Curve, ZeroMemoryIsALineAtTheBottom) {
    const std::string text = drawn({{0, {}}, {10, {}}}, {.width = 30, .height = 6});
    EXPECT_THAT(text, HasSubstr("⣀⣀⣀⣀"));
}

TEST(Curve, MarksAreOnTheAxisOfTime) {
    const auto lines = lines_of(drawn(kRising, {.width = 30, .height = 6, .marks = {-5, 0, 100, 200}}));
    EXPECT_EQ(lines[4], "       0 └╳──────────────────╳");
}

}  // namespace curve_test
}  // namespace memscope
