#include "outputs/http/http_server.h"

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "example.h"
#include "outputs/http/http_client.h"
#include "outputs/http/routes.h"
#include "outputs/json/tick_json.h"
#include "raw_client.h"
#include "record/record.h"
#include "support/json.h"

namespace memscope {
namespace http_server_test {

using test::connected;
using test::get;
using test::raw_exchange;
using test::received;
using test::send_text;
using test::status_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const ListenAddress kAnyPort{"127.0.0.1", 0};

struct Http : testing::Test {
    LatestSnapshot latest_snapshot;
    Result<HttpServer> server = HttpServer::on_tcp(kAnyPort, make_routes(latest_snapshot, {.status = true}));
    void publish(Snapshot snapshot) { latest_snapshot.publish(std::make_shared<const Snapshot>(std::move(snapshot))); }
    std::uint16_t port() { return server->port(); }
};

TEST_F(Http, IsHealthyBeforeItIsReady) {
    EXPECT_EQ(status_of(get(port(), "/-/healthy")), 200);
    EXPECT_EQ(status_of(get(port(), "/-/ready")), 503);
    EXPECT_EQ(status_of(get(port(), "/metrics")), 503);
    EXPECT_EQ(status_of(get(port(), "/api/v1/status")), 503);
    publish(test::example());
    EXPECT_EQ(status_of(get(port(), "/-/ready")), 200);
    EXPECT_EQ(status_of(get(port(), "/metrics")), 200);
}

TEST_F(Http, MetricsHaveTheirContentTypeAndSafeHeaders) {
    publish(test::example());
    const std::string answer = get(port(), "/metrics");
    EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    EXPECT_THAT(answer, HasSubstr("Cache-Control: no-store\r\n"));
    EXPECT_THAT(answer, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
    const auto parsed = parse_http_response(answer);
    ASSERT_TRUE(parsed);
    EXPECT_THAT(parsed->body, HasSubstr("\nmemscope_target_up{target=\"train\"} 1\n"));
}

TEST(HttpRequests, PassCookiesAndOriginToTheHandler) {
    HttpRequest seen;
    const auto server = HttpServer::on_tcp(kAnyPort, [&](const HttpRequest& request) {
        seen = request;
        return HttpResponse{.body = "x", .headers = {{"Set-Cookie", "a=b"}, {"X-More", "1"}}};
    });
    ASSERT_TRUE(server);
    const std::string answer =
        raw_exchange(server->port(),
                     "GET /?token=t HTTP/1.1\r\nHost: localhost\r\nCookie: a=1; b=two; a=3\r\n"
                     "Origin: http://evil.example\r\norigin: null\r\nAccept-Encoding: br, gzip\r\n\r\n");
    EXPECT_THAT(answer, AllOf(HasSubstr("\r\nSet-Cookie: a=b\r\n"), HasSubstr("\r\nX-More: 1\r\n"),
                              HasSubstr("Cache-Control: no-store")));
    EXPECT_EQ(seen.cookies, (std::map<std::string, std::string>{{"a", "1"}, {"b", "two"}}));
    EXPECT_THAT(seen.origins, ElementsAre("http://evil.example", "null"));
    EXPECT_TRUE(seen.accepts_gzip);
    for (const char* accepted : {"identity", "gzip;q=0", "gzip; q=0.0", "x-gzip", ""}) {
        raw_exchange(server->port(),
                     std::string("GET / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: ") + accepted + "\r\n\r\n");
        EXPECT_FALSE(seen.accepts_gzip) << accepted;
        EXPECT_TRUE(seen.cookies.empty());
        EXPECT_TRUE(seen.origins.empty());
    }
}

TEST_F(Http, HeadHasNoBody) {
    const std::string answer = get(port(), "/-/healthy", "HEAD");
    EXPECT_EQ(status_of(answer), 200);
    EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST_F(Http, OtherPathsAre404AndOtherMethods405) {
    EXPECT_EQ(status_of(get(port(), "/")), 404);
    EXPECT_EQ(status_of(get(port(), "/metrics/")), 404);
    EXPECT_EQ(status_of(get(port(), "/../etc/passwd")), 404);
    for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS", "BREW"}) {
        const std::string answer = get(port(), "/metrics", method);
        EXPECT_EQ(status_of(answer), 405) << method;
        EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD\r\n"));
    }
}

TEST_F(Http, ABodyIsIgnoredAndNotWaitedFor) {
    const std::string post = "POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: ";
    EXPECT_EQ(status_of(raw_exchange(port(), post + "5\r\n\r\nhello")), 405);
    EXPECT_EQ(status_of(raw_exchange(port(), post + "60000\r\n\r\n" + std::string(60000, 'x'))), 405);
    EXPECT_EQ(status_of(raw_exchange(port(), post + "99999999999\r\n\r\n")), 405);
    EXPECT_EQ(
        status_of(raw_exchange(port(), "GET /-/healthy HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello")),
        200);
}

TEST_F(Http, OversizedRequestsGetAProperStatus) {
    EXPECT_EQ(status_of(get(port(), "/" + std::string(100000, 'a'))), 414);
    EXPECT_EQ(status_of(raw_exchange(
                  port(), "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(100000, 'a') + "\r\n\r\n")),
              431);
    EXPECT_EQ(status_of(get(port(), "/-/healthy")), 200);
}

TEST_F(Http, MalformedRequestsDoNotStopTheServer) {
    raw_exchange(port(), std::string("\x16\x03\x01\x00\xff\r\n\r\n", 9));
    raw_exchange(port(), "GET\r\n\r\n");
    EXPECT_EQ(status_of(get(port(), "/-/healthy")), 200);
}

TEST_F(Http, StatusIsAnObjectForOneTargetAndAListForSeveral) {
    publish(test::example());
    const auto body = [&](const std::string& path) {
        return nlohmann::json::parse(parse_http_response(get(port(), path))->body);
    };
    EXPECT_EQ(body("/api/v1/status")["target"]["name"], "train");
    Snapshot two = test::example();
    two.targets.push_back(test::training("b c&\xff"));
    publish(two);
    EXPECT_EQ(body("/api/v1/status").size(), 2);
    EXPECT_EQ(body("/api/v1/targets")["targets"][0], "train");
    EXPECT_EQ(body("/api/v1/status?target=train")["target"]["name"], "train");
    EXPECT_EQ(body("/api/v1/status?target=" + percent_encoded("b c&\xff"))["target"]["name"], "b c&\uFFFD");
    EXPECT_EQ(body("/api/v1/status?target=" + percent_encoded("b c&\uFFFD"))["target"]["name"], "b c&\uFFFD");
    EXPECT_EQ(status_of(get(port(), "/api/v1/status?target=nope")), 404);
    EXPECT_EQ(status_of(get(port(), "/api/v1/text?target=")), 404);
    EXPECT_THAT(get(port(), "/api/v1/text?target=train"), HasSubstr("of headroom"));
}

TEST_F(Http, ProcessesAreServedOnlyWithTheStatus) {
    publish(test::example());
    auto closed = HttpServer::on_tcp(kAnyPort, make_routes(latest_snapshot, {}));
    ASSERT_TRUE(closed);
    for (const auto* path : {"/api/v1/status", "/api/v1/targets", "/api/v1/text"})
        EXPECT_EQ(status_of(get(closed->port(), path)), 404) << path;
    EXPECT_EQ(status_of(get(closed->port(), "/metrics")), 200);
}

TEST_F(Http, RecordsAreServedOnlyIfEnabled) {
    Snapshot two = test::example();
    two.targets.push_back(test::training("other"));
    publish(two);
    EXPECT_EQ(status_of(get(port(), "/api/v1/record?target=train")), 404) << "with the status, as on a TCP port";
    auto open = HttpServer::on_tcp(kAnyPort, make_routes(latest_snapshot, {.status = true, .record = true}));
    ASSERT_TRUE(open);
    const auto answer = parse_http_response(get(open->port(), "/api/v1/record?target=other"));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->content_type, "application/octet-stream");
    const auto snapshot = decode_record<Snapshot>(answer->body);
    ASSERT_TRUE(snapshot) << snapshot.error().message();
    ASSERT_EQ(snapshot->targets.size(), 1);
    EXPECT_EQ(tick_json(*snapshot, snapshot->targets[0]), tick_json(two, two.targets[1]));
    EXPECT_EQ(status_of(get(open->port(), "/api/v1/record?target=nope")), 404);
    EXPECT_EQ(status_of(get(open->port(), "/api/v1/record")), 400);
}

TEST_F(Http, AHundredAtOnceAreAllAnswered) {
    publish(test::example());
    std::atomic<int> good = 0;
    std::vector<std::thread> clients;
    for (int i = 0; i < 100; ++i)
        clients.emplace_back([&] { good += status_of(get(port(), "/metrics")) == 200 ? 1 : 0; });
    for (auto& client : clients) client.join();
    EXPECT_EQ(good, 100);
}

TEST_F(Http, APortInUseIsAnErrorWithAdvice) {
    const auto second = HttpServer::on_tcp({"127.0.0.1", port()}, make_routes(latest_snapshot, {}));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message(),
              "listen 127.0.0.1:" + std::to_string(port()) +
                  ": Address already in use; choose another address with --listen, or none with --listen none");
}

TEST_F(Http, AMovedServerAnswersUntilItIsDestroyed) {
    const std::uint16_t old = port();
    {
        HttpServer moved = std::move(*server);
        EXPECT_EQ(status_of(get(moved.port(), "/-/healthy")), 200);
    }
    EXPECT_FALSE(connected(old));
}

TEST(HttpServer, AHandlerThatThrowsIs500AndTheServerLivesOn) {
    auto server = HttpServer::on_tcp(kAnyPort, [](const HttpRequest& request) -> HttpResponse {
        if (request.path == "/bad") throw std::runtime_error("secret");
        return {.body = "fine"};
    });
    ASSERT_TRUE(server);
    const std::string answer = get(server->port(), "/bad");
    EXPECT_EQ(status_of(answer), 500);
    EXPECT_THAT(answer, Not(HasSubstr("secret")));
    EXPECT_EQ(status_of(get(server->port(), "/good")), 200);
}

TEST(HttpServer, ASlowRequestIsAnswered408EvenIfItNeverFallsSilent) {
    auto server =
        HttpServer::on_tcp(kAnyPort, [](const HttpRequest&) { return HttpResponse{}; }, {.request = Seconds{0.4}});
    ASSERT_TRUE(server);
    const Fd silent = connected(server->port());
    const Fd dripping = connected(server->port());
    send_text(dripping, "GET / HTTP/1.1\r\nX: ");
    pollfd answered{.fd = dripping.get(), .events = POLLIN, .revents = 0};
    while (::poll(&answered, 1, 20) == 0) send_text(dripping, "a");  // 20 ms apart, until there is an answer
    EXPECT_EQ(status_of(received(dripping)), 408);
    EXPECT_EQ(status_of(received(silent)), 408);
    EXPECT_EQ(status_of(get(server->port(), "/")), 200);
}

// Serves with a limit for requests of 0.4 s until it is killed, and writes its port to `out`.
[[noreturn]] void serve_in_child(int out) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto server =
        HttpServer::on_tcp(kAnyPort, [](const HttpRequest&) { return HttpResponse{}; }, {.request = Seconds{0.4}});
    const std::uint16_t port = server ? server->port() : 0;
    if (::write(out, &port, sizeof port) != sizeof port) ::_exit(1);
    for (;;) ::pause();
}

// When the process continues, all timeouts have passed, and the connection must not be closed before it is answered.
TEST(HttpServer, ASlowRequestIsAnswered408AfterTheProcessWasStopped) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd in(ends[0]), out(ends[1]);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) serve_in_child(out.get());
    std::uint16_t port = 0;
    EXPECT_EQ(::read(in.get(), &port, sizeof port), static_cast<ssize_t>(sizeof port));
    const Fd silent = connected(port);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the server has accepted it
    ::kill(child, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(1600));
    ::kill(child, SIGCONT);
    EXPECT_EQ(status_of(received(silent)), 408);
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace http_server_test
}  // namespace memscope
