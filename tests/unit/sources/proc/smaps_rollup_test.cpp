#include "sources/proc/smaps_rollup.h"

#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace memscope {
namespace smaps_rollup_test {

const std::string kText =
    "aaaaaaea0000-ffffe615c000 ---p 00000000 00:00 0                          [rollup]\n"
    "Rss:                1332 kB\nPss:                 167 kB\nPss_Dirty:           108 kB\n"
    "Pss_Anon:            104 kB\nPss_File:             59 kB\nPss_Shmem:             4 kB\n"
    "Shared_Clean:       1192 kB\nShared_Dirty:          2 kB\nPrivate_Clean:        32 kB\n"
    "Private_Dirty:       106 kB\nReferenced:         1328 kB\nAnonymous:           108 kB\n"
    "Swap:                  0 kB\n";

std::string without(std::string text, const std::string& key) {
    const auto at = text.find("\n" + key + ":") + 1;
    return text.erase(at, text.find('\n', at) + 1 - at);
}

TEST(SmapsRollup, HasItsNumbersInBytes) {
    const auto pages = parse_smaps_rollup(kText);
    ASSERT_TRUE(pages);
    EXPECT_EQ(pages->resident.n, 1332U << 10);
    EXPECT_EQ(pages->anonymous.n, 108U << 10);
    EXPECT_EQ(pages->own_anon.n, 102U << 10);
    EXPECT_EQ(pages->own_mapped.n, 36U << 10);
    EXPECT_EQ(pages->pss->all.n, 167U << 10);
    EXPECT_EQ(pages->pss->anon.n, 104U << 10);
}

TEST(SmapsRollup, WithoutOneOfItsLinesThereIsNothing) {
    for (const char* key : {"Rss", "Pss", "Pss_Anon", "Pss_Shmem", "Private_Clean", "Private_Dirty", "Anonymous"})
        EXPECT_FALSE(parse_smaps_rollup(without(kText, key))) << key;
}

TEST(SmapsRollup, RefusesInvalidNumbers) {
    EXPECT_FALSE(parse_smaps_rollup(""));
    EXPECT_FALSE(parse_smaps_rollup(std::string(100'000, '\n')));
    EXPECT_FALSE(parse_smaps_rollup(std::string(100'000, ':')));
    const auto with_pss = [](const std::string& value) { return without(kText, "Pss") + "Pss: " + value + "\n"; };
    EXPECT_TRUE(parse_smaps_rollup(with_pss("167 kB")));
    for (const char* value : {"", "kB", "-1 kB", "12", "12 MB", "1 2 kB", "0x10 kB", "18446744073709551615 kB",
                              "99999999999999999999999 kB"})
        EXPECT_FALSE(parse_smaps_rollup(with_pss(value))) << value;
}

TEST(SmapsRollup, OnlyTheBeginningOfALongTextIsParsed) {
    const std::string late = without(kText, "Pss") + std::string(10'000, 'x') + "\nPss: 1 kB\n";
    EXPECT_FALSE(parse_smaps_rollup(late));
}

TEST(SmapsRollup, IsReadThroughTheDirectoryOfTheProcess) {
    const FakeTree tree{{"proc/42/smaps_rollup", kText}, {"proc/43/", ""}};
    EXPECT_TRUE(read_smaps_rollup(*open_directory(tree.at("proc/42"))));
    EXPECT_FALSE(read_smaps_rollup(*open_directory(tree.at("proc/43"))));
}

}  // namespace smaps_rollup_test
}  // namespace memscope
