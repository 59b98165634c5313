#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

#include "sources/python/python_code.h"

namespace memscope {
namespace python_code_lines_test {

using Table = std::vector<std::byte>;

Table table(std::initializer_list<int> values) {
    Table bytes;
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

// What CPython makes of
//   def f(call):
//       x = 1
//       return (x,
//               call())
const Table kPairs310 = table({4, 1, 2, 1, 4, 1, 4, 255});
const Table kLocations311 = table({128, 0,  216, 8,  9,   128, 65, 216, 12, 13,  216, 12, 16, 136, 68,
                                   137, 70, 140, 70, 240, 3,   1,  12,  20, 240, 0,   1,  5,  20});

TEST(LineSince311, AgreesWithCoLines) {
    const std::pair<unsigned, int> expected[] = {{0, 1},  {2, 2},  {4, 2},  {6, 3},  {8, 4},
                                                 {10, 4}, {12, 4}, {24, 4}, {26, 3}, {28, 3}};
    for (const auto& [instruction, line] : expected)
        EXPECT_EQ(line_of(311, kLocations311, 1, instruction), line) << instruction;
    EXPECT_FALSE(line_of(311, kLocations311, 1, 30)) << "after the end of the table";
}

TEST(LineIn310, FollowsThePairs) {
    const std::pair<unsigned, int> expected[] = {{0, 11}, {2, 11}, {3, 11},  {4, 12},
                                                 {6, 13}, {8, 13}, {10, 12}, {12, 12}};
    for (const auto& [instruction, line] : expected)
        EXPECT_EQ(line_of(310, kPairs310, 10, instruction), line) << instruction;
    EXPECT_FALSE(line_of(310, kPairs310, 10, 14)) << "after the end of the table";
}

TEST(LineIn310, MayBeMissingForAPart) {
    const Table with_gap = table({2, 1, 2, 128, 2, 1});
    EXPECT_EQ(line_of(310, with_gap, 1, 0), 2);
    EXPECT_FALSE(line_of(310, with_gap, 1, 2));
    EXPECT_EQ(line_of(310, with_gap, 1, 4), 3) << "the gap does not change the line";
}

TEST(LineIn310, PassesEntriesWithoutInstructions) {
    EXPECT_EQ(line_of(310, table({0, 127, 0, 127, 2, 1}), 1, 0), 256) << "a large difference in several entries";
}

// One more byte follows for kinds 0 to 9, two bytes for kinds 10 to 12.
int entry(int kind, int instructions) { return 0x80 | kind << 3 | (instructions - 1); }

TEST(LineSince311, FollowsEveryKindOfEntry) {
    const Table all = table({entry(15, 1),                           // none: the frame is made
                             entry(10, 1), 0,           0,           // same line
                             entry(0, 2),  0x12,                     // same line, short
                             entry(11, 1), 4,           9,           // one further
                             entry(12, 8), 4,           9,           // two further
                             entry(13, 1), 0x40 | 0x08, 0x01,        // (8 + 64) / 2 = 36 further, without columns
                             entry(14, 1), 0x03,        0,    1, 2,  // one back, long
                             entry(9, 1),  0x00});
    EXPECT_FALSE(line_of(311, all, 10, 0));
    const std::pair<unsigned, int> expected[] = {{2, 10},  {4, 10},  {6, 10},  {8, 11},  {10, 13},
                                                 {25, 13}, {26, 49}, {28, 48}, {30, 48}, {31, 48}};
    for (const auto& [instruction, line] : expected)
        for (const int version : {311, 312, 313, 314, 315})
            EXPECT_EQ(line_of(version, all, 10, instruction), line) << instruction;
    EXPECT_FALSE(line_of(311, all, 10, 32)) << "after the end of the table";
}

TEST(Line, IsTheFirstLineBeforeTheFirstInstruction) {
    for (const int version : {310, 311, 312}) {
        EXPECT_EQ(line_of(version, {}, 7, static_cast<std::uint32_t>(-2)), 7);
        EXPECT_FALSE(line_of(version, {}, 7, 0)) << "no table";
    }
}

TEST(Line, IsUnknownForAnInvalidTable) {
    EXPECT_FALSE(line_of(311, table({1, 2, 3}), 1, 0)) << "begins inside an entry";
    EXPECT_FALSE(line_of(311, table({entry(13, 1)}), 1, 0)) << "ends in an entry";
    EXPECT_FALSE(line_of(311, table({entry(14, 1), 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F}), 1, 0));
    EXPECT_FALSE(line_of(311, table({entry(13, 1), 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x3F}), 1, 0)) << "before line 0";
    EXPECT_FALSE(line_of(311, table({entry(13, 1), 0x7E, 0x7F, 0x7F, 0x7F, 0x7F, 0x3F}), 1, 0)) << "beyond an int";
    EXPECT_FALSE(line_of(311, table({entry(11, 1), 0, 0}), std::numeric_limits<int>::max(), 0));
    EXPECT_FALSE(line_of(310, table({2, 129}), 1, 0)) << "before line 0";
    EXPECT_FALSE(line_of(310, table({2}), 1, 0)) << "half a pair";
}

TEST(Line, IsFoundInOnePassHoweverLongTheTableIs) {
    const Table far(1 << 20, static_cast<std::byte>(entry(14, 8)));
    EXPECT_FALSE(line_of(311, far, 1, std::numeric_limits<std::int32_t>::max()));
    EXPECT_FALSE(line_of(310, far, 1, std::numeric_limits<std::int32_t>::max()));
    const Table endless(1 << 20, std::byte{0x7F});
    EXPECT_FALSE(line_of(311, endless, 1, 0));
}

TEST(CutLineTable, KeepsItsWholeEntries) {
    const Table cut = table({entry(11, 1), 0, 0, entry(14, 1), 0x43});
    EXPECT_EQ(whole_entries(311, cut).size(), 3U);
    EXPECT_EQ(whole_entries(311, table({entry(0, 1)})).size(), 0U);
    EXPECT_EQ(whole_entries(311, table({1, 2})).size(), 0U);
    EXPECT_EQ(whole_entries(311, {}).size(), 0U);
    EXPECT_EQ(whole_entries(310, cut).size(), 4U);
}

TEST(CutLineTable, GivesTheLinesOfTheWholeOneOrNone) {
    std::mt19937 random(1);
    Table whole;
    while (whole.size() < 2000) {
        const int kind = static_cast<int>(random() % 16);
        whole.push_back(static_cast<std::byte>(entry(kind, 1 + static_cast<int>(random() % 8))));
        for (unsigned i = 0; i < 4; ++i) whole.push_back(static_cast<std::byte>(random() % (i == 3 ? 0x40 : 0x80)));
    }
    for (std::size_t size = 0; size <= whole.size(); size += 7)
        for (const std::uint32_t instruction : {0U, 100U, 500U, 900U, 2000U}) {
            const auto line = line_of(311, whole_entries(311, std::span(whole).first(size)), 1 << 28, instruction);
            EXPECT_TRUE(!line || line == line_of(311, whole, 1 << 28, instruction)) << size;
        }
}

}  // namespace python_code_lines_test
}  // namespace memscope
