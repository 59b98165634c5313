#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/watcher/heap_command.h"
#include "outputs/http/http_server.h"
#include "support/fake_tree.h"
#include "unit/cli/arguments/parsed.h"
#include "watch/self/watcher_sockets.h"

namespace memscope {
namespace heap_command_of_target_test {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(HeapOptions, TargetAndProcessAreOptional) {
    const auto only = parsed<HeapOptions>({"heap"});
    EXPECT_FALSE(only.target || only.pid || only.again || only.json);
    const auto both = parsed<HeapOptions>({"heap", "--target", "train", "--pid=42", "--format", "json"});
    EXPECT_EQ(both.target, "train");
    EXPECT_EQ(both.pid, 42);
    EXPECT_TRUE(both.json);
    EXPECT_THAT(refusal({"heap", "--pid", "x"}), HasSubstr("'x' is not a pid"));
}

// A fake watcher with a given answer, which records the requests.
struct HeapOfTarget : testing::Test {
    const FakeTree tree;
    HttpResponse answer{.body = "parts\n"};
    std::vector<HttpRequest> asked{};
    Result<HttpServer> watcher = HttpServer::on_unix(own_socket(tree.root()), [this](const HttpRequest& request) {
        if (request.path == "/api/v1/targets") return HttpResponse{.body = R"({"targets":["a job"]})"};
        asked.push_back(request);
        return answer;
    });
};

TEST_F(HeapOfTarget, IsRequestedFromTheWatcher) {
    ASSERT_TRUE(watcher);
    const auto said = show_heap(tree.root(), {.target = "a job", .top = 3, .json = true});
    ASSERT_TRUE(std::holds_alternative<std::string>(said));
    EXPECT_EQ(std::get<std::string>(said), "parts\n");
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].path, "/api/v1/heap");
    EXPECT_THAT(asked[0].parameters,
                UnorderedElementsAre(Pair("target", "a job"), Pair("format", "json"), Pair("top", "3")));
    (void)show_heap(tree.root(), {.target = "a job", .pid = 42});
    EXPECT_EQ(asked[1].query("pid"), "42");
    (void)show_heap(tree.root(), {.again = Seconds{0.01}});
    EXPECT_EQ(asked.size(), 4U) << "twice: the watcher compares the second census with the first";
}

TEST_F(HeapOfTarget, PrintsTheErrorOfTheWatcher) {
    answer = {.status = 404, .body = "the target has no process 42\n"};
    const auto failed = show_heap(tree.root(), {.target = "a job", .pid = 42, .again = Seconds{3600}});
    ASSERT_TRUE(std::holds_alternative<AskFailure>(failed));
    EXPECT_EQ(std::get<AskFailure>(failed).error.message(), "the target has no process 42");
}

}  // namespace heap_command_of_target_test
}  // namespace memscope
