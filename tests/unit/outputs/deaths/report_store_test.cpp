#include "outputs/deaths/report_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/fake_tree.h"

namespace memscope {
namespace report_store_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string numbered(int n) { return report_name(1763219018.0 + n, "train", 7); }

std::vector<std::string> names_in(const fs::path& directory) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
}

struct AStore : testing::Test {
    FakeTree tree{{"state/", ""}};
    fs::path directory = tree.at("state/memscope");
    ReportStore store(const ReportStore::Limits& limits = {}) {
        auto opened = ReportStore::open(directory, limits);
        EXPECT_TRUE(opened) << (opened ? "" : opened.error().message());
        return std::move(*opened);
    }
};

TEST(ReportName, SortsByTimeAndHasNoCharactersOfAPath) {
    EXPECT_EQ(report_name(1763219018.9, "train", 4711), "death-20251115T150338Z-train-4711.json");
    EXPECT_EQ(report_name(0, "../a b/\x1b", 1), "death-19700101T000000Z-.._a_b__-1.json");
    EXPECT_LT(report_name(0, std::string(5000, 'x'), 1).size(), 120);
    EXPECT_LT(numbered(1), numbered(2));
    EXPECT_TRUE(is_report_name(numbered(1)));
    EXPECT_FALSE(is_report_name("death-1.json.bak"));
}

TEST_F(AStore, MakesItsDirectoryForItselfAndItsGroup) {
    ASSERT_TRUE(store().write(numbered(1), "{}\n"));
    struct stat made{};
    ASSERT_EQ(::stat(directory.c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777U, 0750U);
    ASSERT_EQ(::stat((directory / numbered(1)).c_str(), &made), 0);
    EXPECT_EQ(made.st_mode & 0777U, 0640U);
    EXPECT_EQ(*read_file(directory / numbered(1)), "{}\n");
    EXPECT_THAT(names_in(directory), ElementsAre(numbered(1)));
}

TEST_F(AStore, KeepsTheNewestReportsUpToANumber) {
    auto reports = store({.files = 3});
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(reports.write(numbered(i), "{}"));
    EXPECT_THAT(names_in(directory), ElementsAre(numbered(7), numbered(8), numbered(9)));
}

TEST_F(AStore, FreesATenthSoThatItNeedNotReadItsDirectoryAtEachWrite) {
    auto reports = store({.files = 20});
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(reports.write(numbered(i), "{}"));
    EXPECT_THAT(names_in(directory), SizeIs(20));
    ASSERT_TRUE(reports.write(numbered(20), "{}"));
    EXPECT_THAT(names_in(directory), SizeIs(18));
    for (int i = 21; i < 60; ++i) {
        ASSERT_TRUE(reports.write(numbered(i), "{}"));
        EXPECT_LE(names_in(directory).size(), 20U);
    }
    const std::size_t before = names_in(directory).size();
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(reports.write(numbered(59), "{}"));
    EXPECT_THAT(names_in(directory), SizeIs(before)) << "a report that is written again costs no other";
}

TEST_F(AStore, KeepsTheNewestReportsUpToASize) {
    auto reports = store({.all = Bytes{2500}});
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(reports.write(numbered(i), std::string(1000, 'x')));
    EXPECT_THAT(names_in(directory), ElementsAre(numbered(8), numbered(9)));
}

TEST_F(AStore, TheNewReportStaysEvenIfTheClockIsBehind) {
    auto reports = store({.files = 2});
    for (const int i : {5, 6, 1}) ASSERT_TRUE(reports.write(numbered(i), "{}"));
    EXPECT_THAT(names_in(directory), ElementsAre(numbered(1), numbered(6)));
}

TEST_F(AStore, ReplacesAReportOfTheSameName) {
    auto reports = store();
    ASSERT_TRUE(reports.write(numbered(1), "first"));
    ASSERT_TRUE(reports.write(numbered(1), "second"));
    EXPECT_EQ(*read_file(directory / numbered(1)), "second");
    EXPECT_THAT(names_in(directory), SizeIs(1));
}

TEST_F(AStore, RefusesAReportThatIsTooLarge) {
    auto reports = store({.one = Bytes{10}});
    const auto written = reports.write(numbered(1), std::string(11, 'x'));
    ASSERT_FALSE(written);
    EXPECT_THAT(names_in(directory), IsEmpty());
}

TEST_F(AStore, LeavesFilesOfOthersAlone) {
    auto reports = store({.files = 1});
    tree.write("state/memscope/notes.txt", "mine");
    fs::create_directory(directory / numbered(0));
    for (int i = 1; i < 4; ++i) ASSERT_TRUE(reports.write(numbered(i), "{}"));
    EXPECT_THAT(names_in(directory), ElementsAre(numbered(0), numbered(3), "notes.txt"));
}

TEST_F(AStore, DoesNotFollowLinks) {
    auto reports = store({.files = 1});
    tree.write("state/victim", "precious");
    fs::create_symlink(tree.at("state/victim"), directory / numbered(1));
    fs::create_symlink(tree.at("state/victim"), directory / fmt::format(".report-{}", ::getpid()));
    ASSERT_TRUE(reports.write(numbered(1), "{}"));
    ASSERT_TRUE(reports.write(numbered(2), "{}"));
    EXPECT_EQ(*read_file(tree.at("state/victim")), "precious");
}

TEST_F(AStore, WritesToItsDirectoryAfterARename) {
    auto reports = store();
    fs::rename(directory, tree.at("state/moved"));
    ASSERT_TRUE(reports.write(numbered(1), "{}"));
    EXPECT_THAT(names_in(tree.at("state/moved")), SizeIs(1));
}

TEST_F(AStore, SaysWhyItCannotWriteAndLeavesNothingBehind) {
    auto reports = store();
    fs::remove_all(directory);
    const auto written = reports.write(numbered(1), "{}");
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message(), HasSubstr(numbered(1)));
}

TEST_F(AStore, CannotBeOpenedWhereTheParentIsMissingOrAFile) {
    EXPECT_FALSE(ReportStore::open(tree.at("no/such/place")));
    tree.write("state/file", "");
    const auto opened = ReportStore::open(tree.at("state/file"));
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message(), HasSubstr("--report-dir"));
}

TEST_F(AStore, FindsReportsInTheDirectoryAndInFoldersBelow) {
    auto reports = store();
    ASSERT_TRUE(reports.write(numbered(2), "{}"));
    fs::create_directory(directory / "0");
    tree.write("state/memscope/0/" + numbered(1), "{}");
    tree.write("state/memscope/0/" + numbered(3), "{}");
    EXPECT_THAT(*find_reports(directory),
                ElementsAre(directory / "0" / numbered(1), directory / numbered(2), directory / "0" / numbered(3)));
    EXPECT_FALSE(find_reports(tree.at("nowhere")));
}

}  // namespace report_store_test
}  // namespace memscope
