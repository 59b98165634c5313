#include "model/processes/target_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

namespace memscope {
namespace target_paths_test {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr CgroupId id(std::uint64_t number) { return CgroupId{number}; }

TEST(TargetPaths, TheNearestTargetAroundAPathEnclosesIt) {
    TargetPaths paths;
    EXPECT_EQ(paths.add("a", id(1)).enclosing, kNoCgroup);
    EXPECT_EQ(paths.add("a/b/c", id(2)).enclosing, id(1));
    EXPECT_EQ(paths.add("a/b/c/d", id(3)).enclosing, id(2));
    EXPECT_EQ(paths.add("ab", id(4)).enclosing, kNoCgroup);
    paths.remove("a/b/c", id(2));
    EXPECT_EQ(paths.add("a/b/c/e", id(5)).enclosing, id(1));
}

TEST(TargetPaths, ALaterOuterTargetEnclosesTheOutermostTargetsBelowIt) {
    TargetPaths paths;
    paths.add("a/b", id(1));
    paths.add("a/b/c", id(2));
    paths.add("a/b-x", id(3));  // sorts between the two as plain text
    paths.add("a-b", id(4));
    paths.add("a/d/e", id(5));
    EXPECT_THAT(paths.add("a", id(6)).inside, UnorderedElementsAre(id(1), id(3), id(5)));
    EXPECT_THAT(paths.add("", id(7)).inside, UnorderedElementsAre(id(6), id(4)));
    EXPECT_THAT(paths.add("a/b/c/d", id(8)).inside, IsEmpty());
}

TEST(TargetPaths, RemovingACgroupKeepsALaterCgroupOfTheSamePath) {
    TargetPaths paths;
    paths.add("a", id(1));
    paths.add("a", id(2));
    paths.remove("a", id(1));
    EXPECT_EQ(paths.add("a/b", id(3)).enclosing, id(2));
}

// The work for one more target must not grow with the number of targets.
TEST(TargetPaths, TheWorkForEachTargetDependsOnItsDepthAlone) {
    const auto lookups_for = [](std::uint64_t targets) {
        TargetPaths paths;
        for (std::uint64_t i = 0; i < targets; ++i) paths.add("jobs/user/job_" + std::to_string(i), id(i + 1));
        return paths.lookups();
    };
    EXPECT_EQ(lookups_for(5000), 50 * lookups_for(100));
    EXPECT_LE(lookups_for(5000), 5000U * 8);
}

}  // namespace target_paths_test
}  // namespace memscope
