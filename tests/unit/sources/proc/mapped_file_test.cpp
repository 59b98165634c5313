#include "sources/proc/mapped_file.h"

#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace memscope {
namespace mapped_file_test {

TEST(MappedPath, IsRelativeToTheRootOfTheProcess) {
    EXPECT_EQ(path_below("/", "/lib/a.so"), "/lib/a.so");
    EXPECT_EQ(path_below("/images/train", "/images/train/lib/a.so"), "/lib/a.so");
    EXPECT_EQ(path_below("/images/train/", "/images/train/lib/a.so"), "/lib/a.so");
}

TEST(MappedPath, StaysAsItIsOutsideOfThatRoot) {
    for (const char* path : {"/lib/a.so", "/images/training/a.so", "/images/train", "[vdso]", ""})
        EXPECT_EQ(path_below("/images/train", path), path);
    EXPECT_EQ(path_below("", "/lib/a.so"), "/lib/a.so") << "the root could not be read";
    EXPECT_EQ(path_below("/gone (deleted)", "/gone/a.so"), "/gone/a.so");
}

TEST(MappedFile, IsFoundBelowTheRootOfAChrootedProcess) {
    const FakeTree tree{{"train/lib/a.so", "its own"}, {"proc/42/", ""}};
    const std::string root = tree.at("train");
    fs::create_directory_symlink(root, tree.at("proc/42/root"));
    const auto its_root = root_of(tree.root(), "42");
    ASSERT_TRUE(its_root);
    for (const std::string& path : {root + "/lib/a.so", std::string("/lib/a.so")}) {
        const auto found = find_below(*its_root, path, Lookup::may_wait);
        ASSERT_TRUE(found) << path;
        EXPECT_EQ(identity_of(*found)->size, 7U) << path;
    }
    EXPECT_FALSE(find_below(*its_root, root + "/../train/lib/b.so", Lookup::may_wait));
    EXPECT_FALSE(root_of(tree.root(), "43"));
}

}  // namespace mapped_file_test
}  // namespace memscope
