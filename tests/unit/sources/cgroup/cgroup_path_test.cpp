#include "sources/cgroup/cgroup_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memscope {
namespace cgroup_path_test {

using testing::ElementsAre;
using testing::HasSubstr;
const CgroupHierarchy kV1{1, "/sys/fs/cgroup/memory", true};
const CgroupHierarchy kV2{2, "/sys/fs/cgroup", false};

std::string path_of(std::string_view typed, const CgroupHierarchy& hierarchy = kV2) {
    const auto name = parse_cgroup_name(typed, hierarchy);
    return name ? name->path : "error: " + name.error().message();
}

TEST(CgroupName, IsAPathBelowTheHierarchy) {
    EXPECT_EQ(path_of("train"), "train");
    EXPECT_EQ(path_of("/train"), "train");
    EXPECT_EQ(path_of("train/"), "train");
    EXPECT_EQ(path_of("//a//b//"), "a/b");
    EXPECT_EQ(path_of("system.slice/a b.scope"), "system.slice/a b.scope");
    EXPECT_EQ(path_of("a..b"), "a..b");
}

TEST(CgroupName, IsTheRootForASlash) {
    EXPECT_EQ(path_of("/"), "");
    EXPECT_EQ(path_of("/sys/fs/cgroup/memory", kV1), "");
    EXPECT_EQ(path_of("/sys/fs/cgroup/", kV2), "");
}

TEST(CgroupName, MayBeAnAbsoluteDirectory) {
    EXPECT_EQ(path_of("/sys/fs/cgroup/memory/a/b", kV1), "a/b");
    EXPECT_EQ(path_of("/sys/fs/cgroup/a", kV2), "a");
    EXPECT_EQ(path_of("/sys/fs/cgroupx/a", kV2), "sys/fs/cgroupx/a") << "only whole components are compared";
}

TEST(CgroupName, OfAnotherHierarchyIsRefusedWithTheRightOne) {
    for (const char* typed :
         {"/sys/fs/cgroup/cpu/x", "/sys/fs/cgroup/unified/x", "/sys/fs/cgroup/memory2", "/sys/fs/cgroup"})
        EXPECT_THAT(path_of(typed, kV1), HasSubstr("the memory controller is on /sys/fs/cgroup/memory")) << typed;
}

TEST(CgroupName, RefusesHostileNamesWithAdvice) {
    const std::string cases[] = {"",
                                 "..",
                                 "a/../b",
                                 "/..",
                                 ".",
                                 "a/./b",
                                 "a\nb",
                                 "a\x1b[2J",
                                 "a\x7f",
                                 std::string("a\0b", 3),
                                 std::string(256, 'x'),
                                 std::string(4096, '/')};
    for (const std::string& typed : cases) {
        const auto name = parse_cgroup_name(typed, kV2);
        ASSERT_FALSE(name) << testing::PrintToString(typed);
        EXPECT_FALSE(name.error().advice.empty()) << testing::PrintToString(typed);
        EXPECT_EQ(name.error().message().find('\n'), std::string::npos);
        EXPECT_LT(name.error().message().size(), 300U);
    }
    EXPECT_EQ(path_of(std::string(255, 'x')), std::string(255, 'x'));
}

TEST(CgroupName, IsAGlobWithWildcards) {
    for (const char* glob : {"a*", "a/**/b", "job_?", "[ab]"}) EXPECT_TRUE(parse_cgroup_name(glob, kV2)->glob) << glob;
    for (const char* plain : {"a", "a]", "a\\x2db.slice"}) EXPECT_FALSE(parse_cgroup_name(plain, kV2)->glob) << plain;
}

TEST(CgroupPath, IsThePathOfTheMemoryController) {
    const char v1[] = "8:pids:/a\n4:cpu,memory:/job/x\n0::/elsewhere\n";
    EXPECT_EQ(parse_cgroup_path(v1, 1), "job/x");
    EXPECT_EQ(parse_cgroup_path(v1, 2), "elsewhere");
    EXPECT_EQ(parse_cgroup_path("0::/\n", 2), "");
    EXPECT_EQ(parse_cgroup_path("0::/a:b (deleted)\n", 2), "a:b");
    EXPECT_EQ(parse_cgroup_path("garbage\n::\n", 1), std::nullopt);
}

TEST(CommonCgroup, IsTheInnermostCgroupThatEnclosesAll) {
    EXPECT_EQ(common_cgroup({"a/b/c", "a/b/d", "a/b"}), "a/b");
    EXPECT_EQ(common_cgroup({"ab", "a"}), "");
    EXPECT_EQ(common_cgroup({"a/b"}), "a/b");
    EXPECT_EQ(common_cgroup({}), "");
}

TEST(NearNames, FindTyposAndParts) {
    const std::vector<std::string> existing{"train",      "system.slice", "system.slice/nginx.service",
                                            "user.slice", "rain/x",       "zzz"};
    EXPECT_THAT(similar_names("trian", existing), ElementsAre("train"));
    EXPECT_THAT(similar_names("nginx", existing), ElementsAre("system.slice/nginx.service"));
    EXPECT_THAT(similar_names("wrong/nginx.service", existing), ElementsAre("system.slice/nginx.service"));
    EXPECT_TRUE(similar_names("qqqqq", existing).empty());
    EXPECT_TRUE(similar_names("train", {}).empty());
}

TEST(NearNames, ComeBestFirstAndBounded) {
    const std::vector<std::string> existing{"train-long-name", "train2", "train", "train3", "train4"};
    EXPECT_THAT(similar_names("train", existing), ElementsAre("train", "train2", "train3"));
    EXPECT_THAT(similar_names("train", existing, 1), ElementsAre("train"));
}

TEST(NearNames, CountEditsRight) {
    EXPECT_THAT(similar_names("kitten...", {"sitting..."}), ElementsAre("sitting...")) << "3 edits of 9 bytes";
    EXPECT_TRUE(similar_names("kitten..x", {"sitting..."}).empty()) << "4 edits";
    EXPECT_THAT(similar_names("abc", {"bc"}), ElementsAre("bc"));
    EXPECT_TRUE(similar_names("ab", {"cd"}).empty());
}

// Only cells near the diagonal are computed. All 4e10 cells would exceed the time limit of the test.
TEST(NearNames, TakeTimeInProportionToTheLengthOfTheNames) {
    constexpr std::size_t kLength = 200'000;
    EXPECT_TRUE(similar_names(std::string(kLength, 'a'), {std::string(kLength - 5, 'a') + "bbbbb"}).empty());
}

}  // namespace cgroup_path_test
}  // namespace memscope
