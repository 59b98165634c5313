#include "model/processes/nesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/processes/target_paths.h"

namespace memscope {
namespace nesting_test {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr CgroupId id(std::uint64_t number) { return CgroupId{number}; }

TEST(Nesting, WhatLayInsideARemovedTargetLiesInsideWhatEnclosedThat) {
    Nesting nesting;
    nesting.add(id(1), kNoCgroup);
    nesting.add(id(2), id(1));
    nesting.add(id(3), id(2));
    nesting.add(id(4), id(2));
    nesting.remove(id(2));
    EXPECT_THAT(nesting.around(id(3)), ElementsAre(id(3), id(1)));
    EXPECT_THAT(nesting.around(id(4)), ElementsAre(id(4), id(1)));
    nesting.remove(id(1));
    EXPECT_THAT(nesting.around(id(3)), ElementsAre(id(3)));
    EXPECT_THAT(nesting.around(id(2)), IsEmpty());
}

TEST(Nesting, ATargetThatIsAddedAgainIsMoved) {
    Nesting nesting;
    nesting.add(id(1), kNoCgroup);
    nesting.add(id(2), kNoCgroup);
    nesting.add(id(3), id(1));
    nesting.add(id(3), id(2));
    nesting.remove(id(1));  // it is not inside this target any more
    EXPECT_THAT(nesting.around(id(3)), ElementsAre(id(3), id(2)));
}

TEST(TargetPaths, TheNearestTargetAroundAPathEnclosesIt) {
    TargetPaths paths;
    EXPECT_EQ(paths.add("a", id(1)).enclosing, kNoCgroup);
    EXPECT_EQ(paths.add("a/b/c", id(2)).enclosing, id(1));
    EXPECT_EQ(paths.add("a/b/c/d", id(3)).enclosing, id(2));
    EXPECT_EQ(paths.add("ab", id(4)).enclosing, kNoCgroup);
    paths.remove("a/b/c", id(2));
    EXPECT_EQ(paths.add("a/b/c/e", id(5)).enclosing, id(1));
}

TEST(TargetPaths, AnOuterTargetThatComesLaterTakesInTheOutermostBelowIt) {
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

TEST(TargetPaths, ARemovalOfAnEarlierCgroupLeavesALaterOneOfThatPathAlone) {
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

}  // namespace nesting_test
}  // namespace memscope
