#include <gmock/gmock.h>

#include "example.h"
#include "growth_example.h"
#include "outputs/http/routes.h"
#include "support/json.h"

namespace memscope {
namespace growth_route_test {

using testing::HasSubstr;
using testing::StartsWith;

struct GrowthRoute : testing::Test {
    LatestSnapshot latest_snapshot;
    GrowthRequest asked{};
    RouteOptions options{.status = true, .growth = [this](const std::string& target, const GrowthRequest& request) {
                             asked = request;
                             return target == "train" ? std::optional(test::grown().growth) : std::nullopt;
                         }};

    GrowthRoute() { publish(test::example()); }
    void publish(Snapshot snapshot) { latest_snapshot.publish(std::make_shared<const Snapshot>(std::move(snapshot))); }
    HttpResponse get(std::map<std::string, std::string> parameters) {
        const auto answer =
            make_routes(latest_snapshot, options)({.path = "/api/v1/growth", .parameters = std::move(parameters)});
        return answer.later ? answer.later() : answer;
    }
};

TEST_F(GrowthRoute, IsOnlyServedWithTheStatus) {
    EXPECT_EQ(get({}).status, 200);
    options.status = false;
    EXPECT_EQ(get({}).status, 404);
}

TEST_F(GrowthRoute, TextDefaultsToSinceWarmupAndOtherFormatsToSinceStart) {
    using Since = GrowthRequest::Since;
    (void)get({{"format", "text"}});
    EXPECT_EQ(asked.since, Since::warmup);
    for (const char* format : {"json", "folded", "pprof"}) {
        (void)get({{"format", format}});
        EXPECT_EQ(asked, GrowthRequest{}) << format;
    }
    (void)get({{"format", "json"}, {"since", "10m"}, {"at", "peak"}});
    EXPECT_EQ(asked, (GrowthRequest{.since = Since::ago, .ago = Seconds{600}, .at_peak = true}));
    EXPECT_EQ(get({{"since", "yesterday"}}).status, 400);
    EXPECT_EQ(get({{"at", "noon"}}).status, 400);
}

TEST_F(GrowthRoute, AnswersForTheTargetThatIsNamed) {
    const auto answer = get({{"target", "train"}, {"format", "json"}, {"top", "2"}});
    EXPECT_EQ(answer.content_type, "application/json");
    const auto json = nlohmann::json::parse(answer.body);
    EXPECT_EQ(json["resident"].size(), 2);
    EXPECT_EQ(json["time"], 1760000000.5);
    EXPECT_EQ(get({{"target", "nobody"}}).status, 404);
}

TEST_F(GrowthRoute, SeveralTargetsAndNoneNamedIsAnError) {
    Snapshot snapshot = test::example();
    snapshot.targets.push_back(test::training("other"));
    publish(std::move(snapshot));
    EXPECT_EQ(get({}).status, 400);
    EXPECT_EQ(get({{"target", "train"}}).status, 200);
    EXPECT_EQ(get({{"target", "other"}}).status, 404) << "the source has not heard of it yet";
}

TEST_F(GrowthRoute, SaysThatGrowthIsNotRecorded) {
    options.growth = {};
    const auto answer = get({{"target", "train"}});
    EXPECT_EQ(answer.status, 404);
    EXPECT_THAT(answer.body, StartsWith("growth is not recorded: "));
}

TEST_F(GrowthRoute, RefusesUnknownFormatsAndNumbers) {
    EXPECT_EQ(get({{"format", "svg"}}).status, 400);
    EXPECT_THAT(get({{"format", "\x1b[2J"}}).body, HasSubstr("\\x1b[2J"));
    for (const char* top : {"", "-1", "x", "1e3"}) EXPECT_EQ(get({{"top", top}}).status, 400) << top;
}

}  // namespace growth_route_test
}  // namespace memscope
