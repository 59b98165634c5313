#include "sources/cgroup/cgroup_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace memscope {
namespace cgroup_directory_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CgroupHierarchy hierarchy_of(const FakeTree& tree) { return {2, tree.at("cg"), false}; }

std::vector<std::string> matching_paths(const CgroupHierarchy& hierarchy, const std::string& glob,
                                        const WalkBounds& bounds = {}) {
    std::vector<std::string> paths;
    for (const FoundCgroup& cgroup : find_matching(hierarchy, glob, bounds).found) paths.push_back(cgroup.path);
    return paths;
}

TEST(CgroupDirectory, IsIdentifiedByItsInode) {
    FakeTree tree{{"cg/a/cgroup.procs", ""}, {"cg/b/cgroup.procs", ""}};
    const auto a = CgroupDirectory::open(hierarchy_of(tree), "a"), b = CgroupDirectory::open(hierarchy_of(tree), "b");
    ASSERT_TRUE(a && b);
    EXPECT_NE(a->id(), b->id());
    EXPECT_NE(a->id(), kNoCgroup);
    EXPECT_EQ(a->id(), CgroupDirectory::open(hierarchy_of(tree), "a")->id());
    EXPECT_EQ(a->path(), "a");
}

TEST(CgroupDirectory, DistinguishesARecreatedDirectory) {
    FakeTree tree{{"cg/a/cgroup.procs", ""}};
    const auto before = CgroupDirectory::open(hierarchy_of(tree), "a");
    ASSERT_TRUE(before);
    EXPECT_TRUE(before->exists());
    tree.remove("cg/a");
    EXPECT_FALSE(before->exists());
    tree.write("cg/a/cgroup.procs", "");
    EXPECT_FALSE(before->exists()) << "the recreated directory is another cgroup";
    const auto after = CgroupDirectory::open(hierarchy_of(tree), "a");
    ASSERT_TRUE(after);
    EXPECT_TRUE(after->exists());
    EXPECT_NE(after->id(), before->id()) << "the open directory keeps the inode number from being reused";
}

TEST(CgroupDirectory, OpensAllItsAncestors) {
    FakeTree tree{{"cg/a/b/c/cgroup.procs", ""}};
    const auto chain = CgroupDirectory::open_chain(hierarchy_of(tree), "a/b/c");
    ASSERT_TRUE(chain);
    std::vector<std::string> paths;
    for (const auto& directory : *chain) paths.push_back(directory.path());
    EXPECT_THAT(paths, ElementsAre("a/b/c", "a/b", "a", ""));
}

TEST(CgroupDirectory, NamesWhatItCouldNotOpen) {
    FakeTree tree{{"cg/a/", ""}, {"cg/file", ""}};
    const auto missing = CgroupDirectory::open(hierarchy_of(tree), "a/x/y");
    ASSERT_FALSE(missing);
    EXPECT_TRUE(is_gone(missing.error()));
    EXPECT_THAT(missing.error().where, HasSubstr(tree.at("cg/a/x").native()));
    EXPECT_FALSE(CgroupDirectory::open(hierarchy_of(tree), "file"));
}

TEST(CgroupDirectory, DoesNotLeaveTheHierarchyByALink) {
    FakeTree tree{{"cg/", ""}, {"outside/", ""}};
    fs::create_directory_symlink(tree.at("outside"), tree.at("cg/link"));
    EXPECT_FALSE(CgroupDirectory::open(hierarchy_of(tree), "link"));
    EXPECT_THAT(list_cgroups(hierarchy_of(tree), ""), IsEmpty());
}

TEST(ListCgroups, FindsDirectoriesAtAnyDepth) {
    FakeTree tree{{"cg/b/c/", ""}, {"cg/a/memory.max", ""}, {"cg/b/c/d/", ""}};
    EXPECT_THAT(list_cgroups(hierarchy_of(tree), ""), ElementsAre("a", "b", "b/c", "b/c/d"));
    EXPECT_THAT(list_cgroups(hierarchy_of(tree), "b"), ElementsAre("b/c", "b/c/d"));
    EXPECT_THAT(list_cgroups(hierarchy_of(tree), "missing"), IsEmpty());
}

TEST(ListCgroups, StaysWithinItsBounds) {
    FakeTree tree{{"cg/a/b/c/", ""}, {"cg/d/", ""}, {"cg/e/", ""}};
    EXPECT_THAT(list_cgroups(hierarchy_of(tree), "", {.directories = 100, .depth = 2}),
                ElementsAre("a", "a/b", "d", "e"));
    EXPECT_EQ(list_cgroups(hierarchy_of(tree), "", {.directories = 2, .depth = 64}).size(), 2U);
}

TEST(WalkDirectories, SaysWhetherItSawEverything) {
    FakeTree tree{{"cg/a/b/", ""}};
    const auto top = open_directory(tree.at("cg"));
    const auto all = [](const WalkedDirectory&) { return true; };
    EXPECT_TRUE(walk_directories(*top, "", {}, all));
    EXPECT_FALSE(walk_directories(*top, "", {.directories = 1, .depth = 64}, all));
    EXPECT_FALSE(walk_directories(*top, "", {.directories = 100, .depth = 1}, all));
}

TEST(WalkDirectories, LivesThroughDirectoriesThatVanish) {
    FakeTree tree{{"cg/a/x/", ""}, {"cg/b/x/", ""}};
    std::vector<std::string> seen;
    const auto top = open_directory(tree.at("cg"));
    walk_directories(*top, "", {}, [&](const WalkedDirectory& directory) {
        seen.push_back(directory.path);
        if (seen.size() == 1) {
            tree.remove("cg/a");
            tree.remove("cg/b");
        }
        return true;
    });
    EXPECT_EQ(seen.size(), 1U);
}

TEST(FindMatching, FindsWhatTheGlobMatches) {
    FakeTree tree{{"cg/kubepods.slice/pod1/cri-1.scope/x/", ""},
                  {"cg/kubepods.slice/cri-2.scope/", ""},
                  {"cg/other.slice/cri-3.scope/", ""},
                  {"cg/job_1/step/", ""},
                  {"cg/job_2/", ""}};
    const auto hierarchy = hierarchy_of(tree);
    EXPECT_THAT(matching_paths(hierarchy, "kubepods.slice/**/cri-*.scope"),
                ElementsAre("kubepods.slice/cri-2.scope", "kubepods.slice/pod1/cri-1.scope"));
    EXPECT_THAT(matching_paths(hierarchy, "job_*"), ElementsAre("job_1", "job_2"));
    EXPECT_THAT(matching_paths(hierarchy, "job_1/**"), ElementsAre("job_1", "job_1/step"));
    EXPECT_THAT(matching_paths(hierarchy, "*/step"), ElementsAre("job_1/step"));
    EXPECT_THAT(matching_paths(hierarchy, "missing/*"), IsEmpty());
    EXPECT_EQ(matching_paths(hierarchy, "**"), list_cgroups(hierarchy, "")) << "all, but not the root";
}

TEST(FindMatching, GoesDownOnlyWhereAMatchIsPossible) {
    FakeTree tree;
    for (const char* n : {"1", "2", "3", "4", "5"}) {
        tree.write("cg/job_" + std::string(n) + "/step/", "");
        tree.write("cg/other_" + std::string(n) + "/step/deeper/", "");
    }
    // Ten directories at the top and five steps. This bound suffices only if the walk does not descend into the others.
    EXPECT_EQ(matching_paths(hierarchy_of(tree), "job_*/step", {.directories = 15, .depth = 64}).size(), 5U);
    EXPECT_THAT(matching_paths(hierarchy_of(tree), "job_1/s*", {.directories = 1, .depth = 64}),
                ElementsAre("job_1/step"))
        << "the walk starts at the last component without a wildcard";
}

TEST(ResolvePlain, PrefersAnExistingPath) {
    FakeTree tree{{"cg/a/b.service/", ""}, {"cg/b.service/", ""}};
    EXPECT_EQ(*resolve_plain(hierarchy_of(tree), "a/b.service"), "a/b.service");
    EXPECT_EQ(*resolve_plain(hierarchy_of(tree), "b.service"), "b.service")
        << "an existing path is used without a search";
    EXPECT_EQ(*resolve_plain(hierarchy_of(tree), ""), "");
}

TEST(ResolvePlain, FindsASystemdUnit) {
    FakeTree tree{{"cg/system.slice/nginx.service/", ""}, {"cg/user.slice/u/app.scope/", ""}, {"cg/x/y/", ""}};
    EXPECT_EQ(*resolve_plain(hierarchy_of(tree), "nginx.service"), "system.slice/nginx.service");
    EXPECT_EQ(*resolve_plain(hierarchy_of(tree), "app.scope"), "user.slice/u/app.scope");
    EXPECT_FALSE(resolve_plain(hierarchy_of(tree), "y")) << "not a unit";
    EXPECT_FALSE(resolve_plain(hierarchy_of(tree), "wrong/nginx.service"))
        << "a path with a slash is not searched as a unit";
}

TEST(ResolvePlain, ListsUnitsThatStandInSeveralPlaces) {
    FakeTree tree{{"cg/a/app.scope/", ""}, {"cg/b/app.scope/", ""}};
    const auto found = resolve_plain(hierarchy_of(tree), "app.scope");
    ASSERT_FALSE(found);
    EXPECT_FALSE(is_gone(found.error())) << "waiting would not help";
    EXPECT_THAT(found.error().message(), HasSubstr("'a/app.scope', 'b/app.scope'"));
}

TEST(ResolvePlain, ListsNearNames) {
    FakeTree tree{{"cg/train/", ""}, {"cg/system.slice/", ""}};
    const auto found = resolve_plain(hierarchy_of(tree), "trian");
    ASSERT_FALSE(found);
    EXPECT_TRUE(is_gone(found.error()));
    EXPECT_EQ(found.error().where, "no cgroup 'trian' below " + tree.at("cg").native());
    EXPECT_EQ(found.error().advice, "did you mean 'train'? or use --wait to wait for it");
    EXPECT_EQ(resolve_plain(hierarchy_of(tree), "qqq").error().advice, "use --wait to wait for it");
}

}  // namespace cgroup_directory_test
}  // namespace memscope
