#include "watch/self/self_protection.h"

#include <gmock/gmock.h>

#include "support/dead_job.h"
#include "support/fake_tree.h"

namespace memscope {
namespace self_protection_test {

TEST(SelfProtection, TheOomScoreIsLoweredAndNeverRaised) {
    FakeTree tree{{"proc/self/oom_score_adj", "0\n"}};
    ASSERT_TRUE(lower_own_oom_score(tree.root()));
    EXPECT_EQ(read_file(tree.at("proc/self/oom_score_adj"))->substr(0, 4), "-900");
    tree.write("proc/self/oom_score_adj", "-1000\n");
    ASSERT_TRUE(lower_own_oom_score(tree.root()));
    EXPECT_EQ(*read_file(tree.at("proc/self/oom_score_adj")), "-1000\n");
}

TEST(SelfProtection, ReportsAnOomScoreThatItCannotLower) {
    FakeTree tree{{"proc/self/oom_score_adj", "?\n"}};
    EXPECT_FALSE(lower_own_oom_score(tree.root()));
    EXPECT_FALSE(lower_own_oom_score(FakeTree{}.root()));
}

TEST(SelfProtection, NamesTheTargetsThatContainIt) {
    Snapshot snapshot;
    snapshot.targets.resize(3, test::nearly_full());
    snapshot.targets[1].info.name = "/";
    snapshot.targets[2].info = {.name = "cmd:train", .kind = "command"};
    EXPECT_THAT(targets_around(snapshot, "train"), testing::ElementsAre("train"));
    EXPECT_THAT(targets_around(snapshot, "train/step"), testing::ElementsAre("train"));
    EXPECT_THAT(targets_around(snapshot, "training"), testing::IsEmpty());
    EXPECT_THAT(targets_around(snapshot, ""), testing::IsEmpty());
    EXPECT_EQ(inside_warning("a\x1b").find('\x1b'), std::string::npos);
}

}  // namespace self_protection_test
}  // namespace memscope
