#include "cli/watcher/ask_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace memscope {
namespace ask_watcher_test {

using testing::HasSubstr;

const std::vector<WatchedTarget> kTwo{{"a", "/1.sock"}, {"b", "/2.sock"}};

AskFailure failure(const std::variant<WatchedTarget, AskFailure>& chosen) {
    return std::holds_alternative<AskFailure>(chosen) ? std::get<AskFailure>(chosen) : AskFailure{{}, 0};
}

TEST(AskWatcher, TakesTheOnlyTargetThereIs) {
    EXPECT_EQ(std::get<WatchedTarget>(choose_target({{"a", "/1.sock"}}, {})).name, "a");
    // Two watchers of one target: either can answer.
    EXPECT_EQ(std::get<WatchedTarget>(choose_target({{"a", "/1.sock"}, {"a", "/2.sock"}}, {})).name, "a");
}

TEST(AskWatcher, SeveralTargetsAndNoneNamedIsAUsageErrorThatListsThem) {
    const auto failed = failure(choose_target(kTwo, {}));
    EXPECT_EQ(failed.exit_status, 2);
    EXPECT_THAT(failed.error.message(), HasSubstr("'a', 'b'"));
}

TEST(AskWatcher, ATargetThatNobodyWatchesIsAUsageError) {
    const auto failed = failure(choose_target(kTwo, "c"));
    EXPECT_EQ(failed.exit_status, 2);
    EXPECT_THAT(failed.error.message(), HasSubstr("no watcher watches 'c'"));
}

TEST(AskWatcher, PartOfANameIsEnoughIfOnlyOneTargetHasIt) {
    const std::vector<WatchedTarget> targets{
        {"cmd:train.py", "/1.sock"}, {"job/trainer", "/2.sock"}, {"train", "/3.sock"}};
    EXPECT_EQ(std::get<WatchedTarget>(choose_target(targets, "train")).socket, "/3.sock") << "the exact name wins";
    EXPECT_EQ(std::get<WatchedTarget>(choose_target(targets, "trainer")).socket, "/2.sock");
    EXPECT_EQ(std::get<WatchedTarget>(choose_target(targets, "train.py")).socket, "/1.sock");
    const auto failed = failure(choose_target(targets, "rain"));
    EXPECT_EQ(failed.exit_status, 2);
    EXPECT_THAT(failed.error.message(), HasSubstr("'cmd:train.py', 'job/trainer', 'train'"));
}

TEST(AskWatcher, TwoCommandsWithOneNameAreDistinguishedByTheirPids) {
    const std::vector<WatchedTarget> targets{{"cmd:train.py", "/1.sock", 41}, {"cmd:train.py", "/2.sock", 42}};
    for (const std::optional<std::string>& wanted :
         {std::optional<std::string>(), std::optional<std::string>("train")}) {
        const auto failed = failure(choose_target(targets, wanted));
        EXPECT_EQ(failed.exit_status, 2);
        EXPECT_THAT(failed.error.message(),
                    HasSubstr("--target and its pid: 'cmd:train.py' (pid 41), 'cmd:train.py' (pid 42)"));
    }
    EXPECT_EQ(std::get<WatchedTarget>(choose_target(targets, "42")).socket, "/2.sock");
    EXPECT_EQ(failure(choose_target(targets, "43")).exit_status, 2);
}

TEST(AskWatcher, FindsANameWhoseBytesAreNotText) {
    EXPECT_EQ(std::get<WatchedTarget>(choose_target({{"job\xEF\xBF\xBD", "/1.sock"}}, "job\xFF")).socket, "/1.sock");
}

TEST(AskWatcher, SaysThatNobodyIsWatching) {
    const FakeTree tree;
    const auto answer = ask_watcher(tree.root(), {}, {.path = "/api/v1/text"});
    const auto& failed = std::get<AskFailure>(answer);
    EXPECT_EQ(failed.exit_status, 1);
    EXPECT_THAT(failed.error.message(), HasSubstr("no watcher is running"));
}

}  // namespace ask_watcher_test
}  // namespace memscope
