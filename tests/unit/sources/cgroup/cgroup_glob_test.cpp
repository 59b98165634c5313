#include "sources/cgroup/cgroup_glob.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace memscope {
namespace cgroup_glob_test {

// Matches as the walk does: from the root down, one component at a time.
bool glob_matches(std::string_view pattern, std::string_view path) {
    const auto components = split(pattern, '/');
    GlobProgress progress(components);
    for (const std::string_view name : split(path, '/'))
        if (!path.empty()) progress = progress.after(name);
    return progress.matches();
}

TEST(Glob, MatchesWithinAComponent) {
    EXPECT_TRUE(glob_matches("job_*", "job_12"));
    EXPECT_TRUE(glob_matches("a/*/c", "a/b/c"));
    EXPECT_TRUE(glob_matches("job_[0-9]", "job_7"));
    EXPECT_TRUE(glob_matches("job_[!0-9]", "job_x"));
    EXPECT_TRUE(glob_matches("??", "ab"));
    EXPECT_FALSE(glob_matches("job_*", "job_12/step"));
    EXPECT_FALSE(glob_matches("a/*/c", "a/b/d/c"));
    EXPECT_FALSE(glob_matches("*", ""));
    EXPECT_FALSE(glob_matches("a", "a/b"));
    EXPECT_FALSE(glob_matches("a/b", "a"));
    EXPECT_TRUE(glob_matches("*", ".hidden"));
}

TEST(Glob, TakesABackslashAsItIs) { EXPECT_TRUE(glob_matches("system-a\\x2db*.slice", "system-a\\x2db@1.slice")); }

TEST(Glob, DoubleStarTakesAnyNumberOfComponents) {
    constexpr const char* kKubernetes = "kubepods.slice/**/cri-*.scope";
    EXPECT_TRUE(glob_matches(kKubernetes, "kubepods.slice/cri-1.scope"));
    EXPECT_TRUE(glob_matches(kKubernetes, "kubepods.slice/a/b/cri-1.scope"));
    EXPECT_FALSE(glob_matches(kKubernetes, "kubepods.slice/a/b/cri-1.scope/c"));
    EXPECT_FALSE(glob_matches(kKubernetes, "other.slice/cri-1.scope"));
    EXPECT_TRUE(glob_matches("**", ""));
    EXPECT_TRUE(glob_matches("a/**", "a"));
    EXPECT_TRUE(glob_matches("**/b", "a/a/b"));
    EXPECT_TRUE(glob_matches("**/a/**/b/c", "x/a/b/b/a/b/c"));
    EXPECT_FALSE(glob_matches("**/a/**/b/c", "x/a/b/b/a/c"));
    EXPECT_TRUE(glob_matches("a/**/**/b", "a/b"));
}

TEST(Glob, DoesNotBlowUpOnHostilePatterns) {
    std::string pattern, path, stars;
    for (int i = 0; i < 60; ++i) {
        pattern += "**/a/";
        path += "a/";
        stars += "a*";
    }
    path += path + path + "c";
    // A matcher that tries every placement of the stars would take exponential time.
    EXPECT_FALSE(glob_matches(pattern + "b", path));
    EXPECT_FALSE(glob_matches(stars + "b", std::string(250, 'a')));
}

TEST(Glob, KnowsWhereNothingBelowCanMatch) {
    const std::vector<std::string_view> one{"a", "*"}, deep{"a", "**"};
    EXPECT_TRUE(GlobProgress(one).after("a").can_match_below());
    EXPECT_FALSE(GlobProgress(one).after("b").can_match_below());
    EXPECT_FALSE(GlobProgress(one).after("a").after("x").can_match_below());
    EXPECT_TRUE(GlobProgress(deep).after("a").after("x").after("y").can_match_below());
}

}  // namespace cgroup_glob_test
}  // namespace memscope
