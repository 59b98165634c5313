#include "web/browser_session.h"

#include <gmock/gmock.h>
#include <set>

namespace memscope::web {
namespace browser_session_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

HttpRequest request(const std::string& path) {
    return {.path = path, .version = "HTTP/1.1", .hosts = {"127.0.0.1:7777"}};
}

HttpRequest with_token(const std::string& token) {
    HttpRequest made = request("/");
    made.parameters["token"] = token;
    return made;
}

std::string header(const HttpResponse& response, const std::string& name) {
    for (const auto& [key, value] : response.headers)
        if (key == name) return value;
    return {};
}

struct ASession : testing::Test {
    int redeemed = 0;
    BrowserSession session{7777, [this] { ++redeemed; }};

    // The cookie that a browser gets for a new token.
    std::string sign_in() {
        const auto answer = session.answer(with_token(*session.new_token()));
        EXPECT_EQ(answer->status, 303);
        const std::string cookie = header(*answer, "Set-Cookie");
        return cookie.substr(cookie.find('=') + 1, cookie.find(';') - cookie.find('=') - 1);
    }
    HttpRequest signed_in(const std::string& path, const std::string& cookie) {
        HttpRequest made = request(path);
        made.cookies["memscope_session_7777"] = cookie;
        return made;
    }
    int status_of(const HttpRequest& made) {
        const auto answer = session.answer(made);
        return answer ? answer->status : 200;
    }
};

TEST_F(ASession, NeedsACookie) {
    for (const char* path : {"/", "/page.js", "/api/run", "/api/nothing"}) {
        const auto answer = session.answer(request(path));
        ASSERT_TRUE(answer) << path;
        EXPECT_EQ(answer->status, 403);
        EXPECT_THAT(answer->body, HasSubstr("link that memscope web has printed"));
    }
}

TEST_F(ASession, ATokenWorksOnce) {
    const std::string token = *session.new_token();
    EXPECT_THAT(token, MatchesRegex("[0-9a-f]{32}"));
    const auto answer = session.answer(with_token(token));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 303);
    EXPECT_EQ(header(*answer, "Location"), "/");
    EXPECT_THAT(header(*answer, "Set-Cookie"),
                MatchesRegex("memscope_session_7777=[0-9a-f]{32}; HttpOnly; SameSite=Strict; Path=/"));
    EXPECT_EQ(header(*answer, "Set-Cookie").find(token), std::string::npos);  // the cookie is another secret
    EXPECT_EQ(status_of(with_token(token)), 403);
    EXPECT_EQ(redeemed, 1);
}

TEST_F(ASession, ANewTokenReplacesAnUnusedOne) {
    const std::string first = *session.new_token();
    const std::string second = *session.new_token();
    EXPECT_NE(first, second);
    EXPECT_EQ(status_of(with_token(first)), 403);
    EXPECT_EQ(status_of(with_token(second)), 303);
}

TEST_F(ASession, WrongTokensAreRefusedAndDoNotUseUpTheRightOne) {
    const std::string token = *session.new_token();
    std::string other = token;
    other.back() = other.back() == '0' ? '1' : '0';
    for (const std::string& wrong : {other, token + "0", token.substr(1), std::string()})
        EXPECT_EQ(status_of(with_token(wrong)), 403);
    HttpRequest elsewhere = request("/api/run");
    elsewhere.parameters["token"] = token;
    EXPECT_EQ(status_of(elsewhere), 403);
    EXPECT_EQ(status_of(with_token(token)), 303);
}

TEST_F(ASession, WithoutATokenEveryTokenIsRefused) {
    EXPECT_EQ(status_of(with_token("")), 403);
    EXPECT_EQ(status_of(with_token(std::string(32, '0'))), 403);
}

TEST_F(ASession, TheCookieOpensEverything) {
    const std::string cookie = sign_in();
    for (const char* path : {"/", "/page.js", "/api/run"}) EXPECT_EQ(status_of(signed_in(path, cookie)), 200);
    EXPECT_EQ(status_of(signed_in("/", cookie + "0")), 403);
    EXPECT_EQ(status_of(signed_in("/", "")), 403);
    HttpRequest other_port = request("/");
    other_port.cookies["memscope_session_7778"] = cookie;
    EXPECT_EQ(status_of(other_port), 403);
}

TEST_F(ASession, TheOldestOfTooManyBrowsersIsSignedOut) {
    const std::string first = sign_in();
    std::string last;
    for (std::size_t i = 0; i < BrowserSession::kMostBrowsers; ++i) last = sign_in();
    EXPECT_EQ(status_of(signed_in("/", first)), 403);
    EXPECT_EQ(status_of(signed_in("/", last)), 200);
}

TEST_F(ASession, RefusesOtherOrigins) {
    HttpRequest made = signed_in("/api/run", sign_in());
    made.origins = {"http://127.0.0.1:7777"};
    EXPECT_EQ(status_of(made), 200);
    for (const char* origin : {"http://evil.example", "null", "https://127.0.0.1:7777", "http://127.0.0.1:7778",
                               "http://localhost:7777", "", "http://127.0.0.1:7777.evil.example"}) {
        made.origins = {origin};
        EXPECT_EQ(status_of(made), 403) << origin;
    }
    made.origins = {"http://127.0.0.1:7777", "http://evil.example"};
    EXPECT_EQ(status_of(made), 403);
    // Through a tunnel the browser has another host and port.
    made.hosts = {"localhost:9999"};
    made.origins = {"http://localhost:9999"};
    EXPECT_EQ(status_of(made), 200);
}

TEST_F(ASession, AForeignPageCannotUseUpTheToken) {
    const std::string token = *session.new_token();
    HttpRequest made = with_token(token);
    made.origins = {"http://evil.example"};
    EXPECT_EQ(status_of(made), 403);
    EXPECT_EQ(status_of(with_token(token)), 303);
}

TEST(RandomWord, IsNeverTheSame) {
    std::set<std::string> words;
    for (int i = 0; i < 100; ++i) words.insert(*random_word());
    EXPECT_EQ(words.size(), 100U);
}

}  // namespace browser_session_test
}  // namespace memscope::web
