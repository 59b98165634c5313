#include "cli/watcher/status_command.h"

#include <gmock/gmock.h>

#include "outputs/http/http_server.h"
#include "outputs/http/latest_snapshot.h"
#include "outputs/http/routes.h"
#include "outputs/json/tick_json.h"
#include "outputs/text/status_text.h"
#include "record/container.h"
#include "record/record.h"
#include "support/dead_job.h"
#include "support/fake_tree.h"
#include "watch/self/watcher_sockets.h"

namespace memscope {
namespace status_command_test {

using testing::AllOf;
using testing::HasSubstr;

Snapshot two_targets() {
    Snapshot snapshot = test::dead_job_on_gpus().then;
    snapshot.self.dropped = {{"ring_full", 3}};
    snapshot.targets.push_back(test::nearly_full());
    snapshot.targets[1].info.name = "other \xff";
    return snapshot;
}

std::string shown(const std::variant<std::string, AskFailure>& answer) {
    const auto* failure = std::get_if<AskFailure>(&answer);
    return failure ? "error: " + failure->error.message() : std::get<std::string>(answer);
}

TEST(Status, MatchesTheOutputOfTheWatcher) {
    const Snapshot snapshot = two_targets();
    for (const TargetSnapshot& target : snapshot.targets) {
        const HttpResponse answer{.body = encode_target(snapshot, target)};
        EXPECT_EQ(shown(show_status(answer, true)), tick_json(snapshot, target) + "\n");
        EXPECT_EQ(shown(show_status(answer, false)), status_text(snapshot, target, false));
    }
}

TEST(Status, AsksTheSocketOfAWatcher) {
    const FakeTree tree;
    const fs::path socket = own_socket(tree.root());
    fs::create_directories(socket.parent_path());
    LatestSnapshot latest_snapshot;
    const Snapshot snapshot = two_targets();
    latest_snapshot.publish(std::make_shared<const Snapshot>(snapshot));
    auto server = HttpServer::on_unix(socket, make_routes(latest_snapshot, {.status = true, .record = true}));
    ASSERT_TRUE(server) << server.error().message();
    EXPECT_EQ(shown(ask_status(tree.root(), {.target = "train", .json = true})),
              tick_json(snapshot, snapshot.targets[0]) + "\n");
    EXPECT_EQ(shown(ask_status(tree.root(), {.target = "other \xff", .json = false})),
              status_text(snapshot, snapshot.targets[1], false));
}

TEST(Status, AWatcherOfAnotherVersionIsNamedAsSuch) {
    const HttpResponse older{.status = 404, .body = "not found: try /metrics\n"};
    EXPECT_THAT(shown(show_status(older, false)),
                AllOf(HasSubstr("another version"), HasSubstr("restart the watcher")));
    const HttpResponse newer{.body = record::sealed(record::Kind::snapshot, "", record::kFormatVersion + 1)};
    EXPECT_THAT(shown(show_status(newer, false)), AllOf(HasSubstr("later version"), HasSubstr("restart the watcher")));
}

TEST(Status, OtherAnswersAreErrors) {
    EXPECT_THAT(shown(show_status({.status = 404, .body = "no such target: train\n"}, false)), HasSubstr("ended"));
    EXPECT_THAT(shown(show_status({.status = 503, .body = "no measurement yet\n"}, false)),
                HasSubstr("no measurement yet"));
    EXPECT_THAT(shown(show_status({.body = "<html>"}, false)), HasSubstr("is not a record"));
    EXPECT_THAT(shown(show_status({.body = encode_record(Snapshot{})}, false)), HasSubstr("has no target"));
}

}  // namespace status_command_test
}  // namespace memscope
