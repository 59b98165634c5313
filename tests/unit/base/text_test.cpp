#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace text_test {

using testing::ElementsAre;
const std::string kReplacement = "\xEF\xBF\xBD";

TEST(ValidUtf8, LeavesGoodTextAlone) {
    for (const char* text : {"", "python3", "Ärger", "日本", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"})
        EXPECT_EQ(valid_utf8(text), text);
}

TEST(ValidUtf8, ReplacesEachBadByte) {
    EXPECT_EQ(valid_utf8("a\xFF"
                         "b"),
              "a" + kReplacement + "b");
    EXPECT_EQ(valid_utf8("\x80"), kReplacement) << "a continuation byte alone";
    EXPECT_EQ(valid_utf8("\xC3"), kReplacement) << "cut in the middle, as comm is after 15 bytes";
    EXPECT_EQ(valid_utf8("\xE6\x97"), kReplacement + kReplacement);
    EXPECT_EQ(valid_utf8("\xC3("), kReplacement + "(") << "what follows a bad lead byte stays";
}

TEST(ValidUtf8, RefusesOverlongSurrogatesAndBeyondUnicode) {
    for (const char* text : {"\xC0\x80", "\xC1\xBF", "\xE0\x80\xAF", "\xF0\x80\x80\xAF", "\xED\xA0\x80",
                             "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80"})
        EXPECT_EQ(valid_utf8(text).find(kReplacement), 0U) << testing::PrintToString(text);
}

TEST(Printable, IsOneLineWithoutEscapeSequences) {
    EXPECT_EQ(printable("a\nb\tc"), "a\\nb\\tc");
    EXPECT_EQ(printable("\x1b[31m"), "\\x1b[31m");
    EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(printable("\x7f"), "\\x7f");
    EXPECT_EQ(printable("\xFF"), kReplacement);
}

TEST(Shortened, KeepsAtMostSixtyBytes) {
    EXPECT_EQ(shortened("train"), "train");
    EXPECT_EQ(shortened(std::string(60, 'a')), std::string(60, 'a'));
    EXPECT_EQ(shortened(std::string(61, 'a')), std::string(60, 'a') + "...");
}

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
    EXPECT_EQ(parse_number("0"), 0U);
    EXPECT_EQ(parse_number("18446744073709551615"), ~0ULL);
    for (const char* text : {"", " 1", "1 ", "-1", "+1", "1.0", "0x1", "18446744073709551616"})
        EXPECT_FALSE(parse_number(text)) << text;
}

TEST(Split, KeepsEmptyParts) {
    EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
    EXPECT_THAT(split("", ','), ElementsAre(""));
    EXPECT_THAT(split("a,", ','), ElementsAre("a", ""));
}

TEST(Trimmed, TakesSpaceOffBothEnds) {
    EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
    EXPECT_EQ(trimmed(" \n"), "");
    EXPECT_EQ(trimmed(""), "");
}

TEST(ForEachLine, VisitsTheLastLineWithoutNewline) {
    std::vector<std::string> lines;
    const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
    for_each_line("a\n\nb", keep);
    EXPECT_THAT(lines, ElementsAre("a", "", "b"));
    lines.clear();
    for_each_line("a\n", keep);
    EXPECT_THAT(lines, ElementsAre("a"));
    lines.clear();
    for_each_line("", keep);
    EXPECT_TRUE(lines.empty());
}

}  // namespace text_test
}  // namespace memscope
