#include "web/page_routes.h"

#include <gmock/gmock.h>

#include "recorded_page.h"

namespace memscope::web {
namespace page_routes_test {

using nlohmann::json;
using test::kBegan;
using test::kIndex;
using testing::HasSubstr;

struct Routes : test::RecordedPage {
    std::unique_ptr<PageData> data{};
    PageFiles page_files = files();
    BrowserSession session{7777};
    HttpHandler handler{};
    std::string cookie{};

    void SetUp() override {
        begin();
        for (int i = 0; i < 20; ++i) tick(i, 100);
        close();
        data = page();
        handler = make_page_routes(page_files, *data, session);
        HttpRequest request{.path = "/", .hosts = {"127.0.0.1:7777"}};
        request.parameters["token"] = *session.new_token();
        const HttpResponse answer = handler(request);
        for (const auto& [name, value] : answer.headers)
            if (name == "Set-Cookie") cookie = value.substr(value.find('=') + 1, 32);
    }
    HttpResponse get(const std::string& route, std::map<std::string, std::string> parameters = {}) {
        HttpRequest request{.path = route, .parameters = std::move(parameters), .hosts = {"127.0.0.1:7777"}};
        request.cookies["memscope_session_7777"] = cookie;
        HttpResponse response = handler(request);
        return response.later ? response.later() : response;
    }
};

TEST_F(Routes, EveryAnswerHasTheSecurityHeaders) {
    for (const char* route : {"/", "/page.js", "/api/run", "/api/heap", "/nothing", "/api/nothing"}) {
        std::map<std::string, std::string> headers;
        for (const auto& [name, value] : get(route).headers) headers[name] = value;
        EXPECT_THAT(headers["Content-Security-Policy"], HasSubstr("default-src 'none'; script-src 'self';")) << route;
        EXPECT_EQ(headers["Referrer-Policy"], "no-referrer") << route;
    }
}

TEST_F(Routes, ServeThePageAndItsData) {
    EXPECT_EQ(get("/").body, kIndex);
    EXPECT_EQ(get("/").content_type, "text/html; charset=utf-8");
    EXPECT_EQ(get("/page.css").content_type, "text/css; charset=utf-8");
    EXPECT_EQ(json::parse(get("/api/run").body)["ticks"], 20);
    EXPECT_EQ(json::parse(get("/api/curves", {{"width", "20"}}).body)["time"].size(), 20U);
    EXPECT_EQ(json::parse(get("/api/tick", {{"at", "1000003.5"}}).body)["time"], kBegan + 3);
    EXPECT_EQ(get("/api/live", {{"after", "0"}}).status, 200);
    for (const char* route : {"/index.html", "/../page.js", "/page", "/.", "//page.js"})
        EXPECT_EQ(get(route).status, 404);
    EXPECT_EQ(get("/api/nothing").status, 404);
}

TEST_F(Routes, RefuseParametersThatAreNotNumbers) {
    for (const char* bad : {"", "x", "1e99", "nan", "inf", "1 ", "0x10", "-"}) {
        EXPECT_EQ(get("/api/tick", {{"at", bad}}).status, 400) << bad;
        EXPECT_EQ(get("/api/curves", {{"from", bad}}).status, 400) << bad;
        EXPECT_EQ(get("/api/live", {{"after", bad}}).status, 400) << bad;
        EXPECT_EQ(get("/api/growth", {{"at", bad}}).status, 400) << bad;
        EXPECT_EQ(get("/api/heap", {{"at", bad}}).status, 400) << bad;
    }
    EXPECT_EQ(get("/api/curves", {{"width", "15"}}).status, 400);
    EXPECT_EQ(get("/api/curves", {{"width", "4001"}}).status, 400);
    EXPECT_EQ(get("/api/curves", {{"from", "2"}, {"to", "1"}}).status, 400);
    EXPECT_EQ(get("/api/growth", {{"since", "yesterday"}}).status, 400);
    EXPECT_TRUE(json::parse(get("/api/tick", {{"at", "x"}}).body).contains("error"));
}

}  // namespace page_routes_test
}  // namespace memscope::web
