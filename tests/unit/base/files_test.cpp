#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace memscope {
namespace files_test {

TEST(ReadFile, ReadsAllOfIt) {
    const std::string large(100000, 'x');
    FakeTree tree{{"small", "a\nb"}, {"empty", ""}, {"large", large}};
    EXPECT_EQ(*read_file(tree.at("small")), "a\nb");
    EXPECT_EQ(*read_file(tree.at("empty")), "");
    EXPECT_EQ(*read_file(tree.at("large")), large);
}

TEST(ReadFile, StopsAtItsBound) {
    FakeTree tree{{"file", "abcdef"}};
    EXPECT_EQ(*read_file(tree.at("file"), 4), "abcd");
    EXPECT_EQ(read_file("/dev/zero", 70000)->size(), 70000U);
}

TEST(ReadFile, NamesTheFileInItsError) {
    FakeTree tree{{"directory/", ""}};
    const auto missing = read_file(tree.at("missing"));
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, std::errc::no_such_file_or_directory);
    EXPECT_EQ(missing.error().where, "open " + tree.at("missing").native());
    const auto directory = read_file(tree.at("directory"));
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error().code, std::errc::is_a_directory);
}

TEST(OpenDirectory, StaysWithTheDirectoryItOpened) {
    FakeTree tree{{"a/file", "old"}};
    const auto directory = open_directory(tree.at("a"));
    ASSERT_TRUE(directory);
    fs::rename(tree.at("a"), tree.at("b"));
    tree.write("a/file", "new");
    EXPECT_EQ(*read_file_at(*directory, "file"), "old");
}

TEST(OpenDirectory, RefusesFilesAndClosesOnExec) {
    FakeTree tree{{"file", ""}};
    EXPECT_FALSE(open_directory(tree.at("file")));
    const auto directory = open_directory(tree.at(""));
    ASSERT_TRUE(directory);
    EXPECT_TRUE(::fcntl(directory->get(), F_GETFD) & FD_CLOEXEC);
}

TEST(OpenDirectoryAt, DoesNotFollowLinks) {
    FakeTree tree{{"real/", ""}};
    fs::create_directory_symlink("real", tree.at("link"));
    const auto top = open_directory(tree.at(""));
    ASSERT_TRUE(top);
    EXPECT_TRUE(open_directory_at(*top, "real"));
    EXPECT_FALSE(open_directory_at(*top, "link"));
}

}  // namespace files_test
}  // namespace memscope
