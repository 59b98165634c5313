// Reports in a directory of another user, which only root can write.
#include "outputs/deaths/report_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/fake_tree.h"

namespace memscope {
namespace report_store_test {

constexpr uid_t kNobody = 65534;
constexpr const char* kName = "death-20251115T150338Z-train-4711.json";

struct DirectoryOfAnotherUser : testing::Test {
    FakeTree tree{{"state/", ""}};
    fs::path directory = tree.at("state/memscope");

    static void give_away(const fs::path& path) {
        ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0) << "needs root";
    }
};

TEST_F(DirectoryOfAnotherUser, GetsASubdirectoryOfRoot) {
    fs::create_directory(directory);
    give_away(directory);
    auto reports = ReportStore::open(directory);
    ASSERT_TRUE(reports);
    ASSERT_TRUE(reports->write(kName, "{}"));
    EXPECT_EQ(reports->path(), directory / "0");
    EXPECT_TRUE(fs::exists(directory / "0" / kName));
}

TEST_F(DirectoryOfAnotherUser, RefusesASubdirectoryOfAnotherUserAndALink) {
    fs::create_directories(directory / "0");
    give_away(directory);
    give_away(directory / "0");
    EXPECT_FALSE(ReportStore::open(directory));
    fs::remove(directory / "0");
    fs::create_directory_symlink("/tmp", directory / "0");
    EXPECT_FALSE(ReportStore::open(directory));
}

}  // namespace report_store_test
}  // namespace memscope
