#include "cli/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_tree.h"

namespace memscope {
namespace {

using testing::HasSubstr;

const std::vector<WatchedTarget> kTwo{{"a", "/1.sock"}, {"b", "/2.sock"}};

StatusFailure failure(const std::variant<WatchedTarget, StatusFailure>& chosen) {
    return std::holds_alternative<StatusFailure>(chosen) ? std::get<StatusFailure>(chosen) : StatusFailure{{}, 0};
}

TEST(Status, TakesTheOnlyTargetThereIs) {
    EXPECT_EQ(std::get<WatchedTarget>(choose_target({{"a", "/1.sock"}}, {})).name, "a");
    // Two watchers of one target: either can answer.
    EXPECT_EQ(std::get<WatchedTarget>(choose_target({{"a", "/1.sock"}, {"a", "/2.sock"}}, {})).name, "a");
}

TEST(Status, SeveralTargetsAndNoneNamedIsAUsageErrorThatListsThem) {
    const auto failed = failure(choose_target(kTwo, {}));
    EXPECT_EQ(failed.exit_status, 2);
    EXPECT_THAT(failed.error.message(), HasSubstr("'a', 'b'"));
}

TEST(Status, ANameNobodyWatchesIsAUsageError) {
    const auto failed = failure(choose_target(kTwo, "c"));
    EXPECT_EQ(failed.exit_status, 2);
    EXPECT_THAT(failed.error.message(), HasSubstr("nobody watches 'c'"));
}

TEST(Status, FindsANameWhoseBytesAreNotText) {
    EXPECT_EQ(std::get<WatchedTarget>(choose_target({{"job\xEF\xBF\xBD", "/1.sock"}}, "job\xFF")).socket, "/1.sock");
}

TEST(Status, SaysThatNobodyIsWatching) {
    const FakeTree tree;
    const auto answer = ask_status(tree.root(), {});
    const auto& failed = std::get<StatusFailure>(answer);
    EXPECT_EQ(failed.exit_status, 1);
    EXPECT_THAT(failed.error.message(), HasSubstr("no watcher is running"));
}

}  // namespace
}  // namespace memscope
