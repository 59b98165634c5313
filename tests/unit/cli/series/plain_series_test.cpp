#include "cli/series/plain_series.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "cli/series/series_input.h"
#include "model/series.h"
#include "support/fake_tree.h"

namespace memscope {
namespace plain_series_test {

using testing::HasSubstr;

Result<Series> parse(std::string_view text) {
    Series series;
    PlainSeries csv([&](Seconds time, Bytes bytes) { series.add(time, bytes); });
    Status status = Done{};
    for_each_line(text, [&](std::string_view line) {
        if (status) status = csv.add_line(line);
    });
    if (status) status = csv.finish();
    if (!status) return status.error();
    return series;
}

Result<Series> read(const std::string& path) {
    Series series;
    const auto status = read_series(path, {}, [&](Seconds time, Bytes bytes) { series.add(time, bytes); });
    if (!status) return status.error();
    return series;
}

std::string refusal(std::string_view text) {
    const auto series = parse(text);
    EXPECT_FALSE(series) << text;
    return series ? "" : series.error().message();
}

TEST(PlainSeries, ReadsOneSamplePerLineAfterTheHeader) {
    const auto series = parse("t_seconds,bytes\n0,100\n1.5,200\n");
    ASSERT_TRUE(series);
    EXPECT_EQ(series->count(), 2U);
    EXPECT_EQ(series->length(), 1.5);
    EXPECT_EQ(series->latest(), Bytes{200});
}

TEST(PlainSeries, FilesOfSpreadsheetsAreRead) {
    const auto series = parse("\xEF\xBB\xBFt_seconds , bytes\r\n\r\n# a remark\r\n +1 , 1e9 \r\n2,3.7\r\n");
    ASSERT_TRUE(series);
    EXPECT_EQ(series->count(), 2U);
    EXPECT_EQ(series->peak(), Bytes{1000000000});
}

TEST(PlainSeries, OtherColumnsAreIgnored) {
    const auto series = parse("t_seconds,bytes,step\n0,100,1\n1,200,two\n");
    ASSERT_TRUE(series);
    EXPECT_EQ(series->count(), 2U);
    EXPECT_THAT(refusal("t_seconds,bytes,step\n0,100\n"), HasSubstr("line 2"));
}

TEST(PlainSeries, AHeaderAloneIsASeriesWithoutSamples) {
    const auto series = parse("t_seconds,bytes\n");
    ASSERT_TRUE(series);
    EXPECT_EQ(series->count(), 0U);
}

TEST(PlainSeries, ErrorsNameTheLine) {
    EXPECT_THAT(refusal(""), HasSubstr("is empty"));
    EXPECT_THAT(refusal("1,2\n"), HasSubstr("line 1: not the header"));
    EXPECT_THAT(refusal("t_seconds,bytes\na,b\n"), HasSubstr("line 2: not a time and a size: 'a,b'"));
    EXPECT_THAT(refusal("t_seconds,bytes\n0\n"), HasSubstr("line 2"));
    EXPECT_THAT(refusal("t_seconds,bytes\n0,-5\n"), HasSubstr("the size is out of range"));
    EXPECT_THAT(refusal("t_seconds,bytes\n0,1e30\n"), HasSubstr("the size is out of range"));
    EXPECT_THAT(refusal("t_seconds,bytes\nnan,1\n"), HasSubstr("line 2"));
    EXPECT_THAT(refusal("t_seconds,bytes\n0,inf\n"), HasSubstr("line 2"));
    EXPECT_THAT(refusal("t_seconds,bytes\n5,1\n4,1\n"), HasSubstr("line 3: the time is before"));
}

TEST(PlainSeries, AFileOfAnyLengthIsReadToItsEnd) {
    std::string text = "t_seconds,bytes\n";
    for (int t = 0; t < 30000; ++t) text += std::to_string(t) + ",1234567890\n";
    text.pop_back();  // the last line may lack its newline
    FakeTree tree;
    tree.write("run.csv", text);
    const auto series = read(tree.at("run.csv").string());
    ASSERT_TRUE(series);
    EXPECT_EQ(series->count(), 30000U);
}

TEST(PlainSeries, AFileThatCannotBeReadIsNamed) {
    const auto series = read("/nowhere/run.csv");
    ASSERT_FALSE(series);
    EXPECT_THAT(series.error().message(), HasSubstr("/nowhere/run.csv"));
}

TEST(PlainSeries, RefusesALineThatIsTooLong) {
    FakeTree tree;
    tree.write("run.csv", "t_seconds,bytes\n" + std::string(1 << 20, '1'));
    const auto series = read(tree.at("run.csv").string());
    ASSERT_FALSE(series);
    EXPECT_THAT(series.error().message(), HasSubstr("longer than"));
}

}  // namespace plain_series_test
}  // namespace memscope
