#include "cli/watcher/growth_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "outputs/http/http_server.h"
#include "support/fake_tree.h"
#include "watch/self/watcher_sockets.h"

namespace memscope {
namespace growth_command_test {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// A fake watcher with a given answer, which records the request.
struct GrowthCommand : testing::Test {
    const FakeTree tree;
    HttpResponse answer{.body = "grown\n"};
    HttpRequest asked{};
    Result<HttpServer> watcher = HttpServer::on_unix(own_socket(tree.root()), [this](const HttpRequest& request) {
        if (request.path == "/api/v1/targets") return HttpResponse{.body = R"({"targets":["a job"]})"};
        asked = request;
        return answer;
    });

    std::variant<GrowthAnswer, AskFailure> ask(const GrowthOptions& options, const GrowthDisplay& display = {}) {
        return ask_growth(tree.root(), options, display);
    }
};

TEST_F(GrowthCommand, RequestsTwentySitesForTextAndAllForOtherFormats) {
    ASSERT_TRUE(watcher);
    EXPECT_EQ(std::get<GrowthAnswer>(ask({})).output, "grown\n");
    EXPECT_EQ(asked.path, "/api/v1/growth");
    EXPECT_THAT(asked.parameters,
                UnorderedElementsAre(Pair("target", "a job"), Pair("format", "text"), Pair("top", "20")));
    (void)ask({.format = "json"});
    EXPECT_THAT(asked.parameters, UnorderedElementsAre(Pair("target", "a job"), Pair("format", "json")));
    (void)ask({.top = 3, .format = "folded"}, {.terminal = true, .columns = 90});
    EXPECT_THAT(asked.parameters,
                UnorderedElementsAre(Pair("target", "a job"), Pair("format", "folded"), Pair("top", "3")));
}

TEST_F(GrowthCommand, PassesOnTheTime) {
    (void)ask({.format = "json", .since = "10m", .at_peak = true, .stacks = true});
    EXPECT_EQ(asked.query("since"), "10m");
    EXPECT_EQ(asked.query("at"), "peak");
    EXPECT_EQ(asked.query("stacks"), "1");
}

TEST_F(GrowthCommand, OnlyTextOnATerminalHasColourAndAWidth) {
    (void)ask({}, {.terminal = true, .columns = 132});
    EXPECT_EQ(asked.query("colour"), "1");
    EXPECT_EQ(asked.query("columns"), "132");
}

TEST_F(GrowthCommand, DoesNotPrintAProfileToATerminal) {
    const auto refused = ask({.format = "pprof"}, {.terminal = true});
    EXPECT_EQ(std::get<AskFailure>(refused).exit_status, 2);
    EXPECT_THAT(std::get<AskFailure>(refused).error.message(), HasSubstr(">growth.pb.gz"));
    EXPECT_THAT(asked.path, IsEmpty());
    answer.body = std::string("\x1f\x8b\0\0\r\n", 6);  // must be passed on unchanged
    EXPECT_EQ(std::get<GrowthAnswer>(ask({.format = "pprof"})).output, answer.body);
}

TEST_F(GrowthCommand, PrintsTheNoteOfTheAnswer) {
    answer.note = "3 call sites gave back more than they took";
    EXPECT_EQ(std::get<GrowthAnswer>(ask({.format = "folded"})).note, answer.note);
}

TEST_F(GrowthCommand, PrintsTheErrorOfTheWatcher) {
    answer = {.status = 404, .body = "growth is not recorded\n"};
    const auto failed = ask({});
    EXPECT_EQ(std::get<AskFailure>(failed).exit_status, 1);
    EXPECT_EQ(std::get<AskFailure>(failed).error.message(), "growth is not recorded");
}

}  // namespace growth_command_test
}  // namespace memscope
