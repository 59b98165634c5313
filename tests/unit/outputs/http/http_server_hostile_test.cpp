#include <atomic>
#include <chrono>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>

#include "base/files.h"
#include "example.h"
#include "outputs/http/http_client.h"
#include "outputs/http/http_server.h"
#include "outputs/http/routes.h"
#include "outputs/metrics/metric_table.h"
#include "raw_client.h"

// Clients that attack the server, or behave as if they did.
namespace memscope {
namespace http_server_hostile_test {

using test::connected;
using test::get;
using test::raw_exchange;
using test::received;
using test::send_text;
using test::status_of;

const ListenAddress kAnyPort{"127.0.0.1", 0};
const std::string kScrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

// No client times out during a test: each scrape must be answered while the other connections stay.
struct HostileHttp : testing::Test {
    LatestSnapshot latest_snapshot;
    Result<HttpServer> server =
        HttpServer::on_tcp(kAnyPort, make_routes(latest_snapshot, {}), {.request = std::chrono::hours(1)});
    std::string page = render_prometheus(test::example());

    void SetUp() override {
        latest_snapshot.publish(std::make_shared<const Snapshot>(test::example()));
        rlimit files{};
        ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
        files.rlim_cur = files.rlim_max;
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
        ASSERT_GE(files.rlim_cur, 4096) << "too few descriptors to play a crowd";
    }
    std::uint16_t port() { return server->port(); }
    bool scrape_is_right() {
        const auto answer = parse_http_response(get(port(), "/metrics"));
        return answer && answer->status == 200 && answer->body == page;
    }
};

TEST_F(HostileHttp, TwoHundredScrapesAtOnceAreAllWholeAndRight) {
    std::vector<Fd> clients;
    for (int i = 0; i < 200; ++i) clients.push_back(connected(port()));  // all are there before one asks
    std::atomic<int> right = 0;
    std::vector<std::thread> threads;
    threads.reserve(clients.size());
    for (const Fd& client : clients)
        threads.emplace_back([&] {
            send_text(client, kScrape);
            const auto answer = parse_http_response(received(client));
            right += answer && answer->status == 200 && answer->body == page ? 1 : 0;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right, 200);
}

TEST_F(HostileHttp, AThousandIdleConnectionsDoNotKeepAScrapeOut) {
    std::vector<Fd> idle;
    for (int i = 0; i < 1000; ++i) idle.push_back(connected(port()));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(scrape_is_right());
    EXPECT_EQ(status_of(received(idle.front())), 503) << "the oldest connection is closed with a reason";
}

TEST_F(HostileHttp, ManyClientsThatSendAByteAtATimeDoNotKeepAScrapeOut) {
    std::vector<Fd> slow;
    for (int i = 0; i < 600; ++i) slow.push_back(connected(port()));
    for (std::size_t byte = 0; byte < 5; ++byte) {
        for (const Fd& client : slow) send_text(client, kScrape.substr(byte, 1));
        EXPECT_TRUE(scrape_is_right());
    }
}

TEST_F(HostileHttp, HeadersOfMegabytesAndRequestLinesWithoutEndAreCutOff) {
    for (const std::string start : {"GET /metrics HTTP/1.1\r\nX: ", "GET /", "X"}) {
        const Fd client = connected(port());
        send_text(client, start);
        const std::string chunk(64 << 10, 'a');
        std::size_t taken = 0;
        while (taken < (std::size_t{64} << 20)) {
            const ssize_t n = ::send(client.get(), chunk.data(), chunk.size(), MSG_NOSIGNAL);
            if (n <= 0) break;
            taken += static_cast<std::size_t>(n);
        }
        EXPECT_LT(taken, std::size_t{32} << 20) << "the server stopped reading long before";
        EXPECT_TRUE(scrape_is_right());
    }
}

TEST_F(HostileHttp, AHundredThousandSmallHeadersAreTooMany) {
    std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n";
    for (int i = 0; i < 100'000; ++i) request += "A: b\r\n";
    const std::string answer = raw_exchange(port(), request + "\r\n");
    EXPECT_TRUE(answer.empty() || status_of(answer) == 431) << answer.substr(0, 100);
    EXPECT_TRUE(scrape_is_right());
}

TEST_F(HostileHttp, AHalfClosedClientStillGetsItsAnswer) {
    const Fd client = connected(port());
    send_text(client, kScrape);
    ::shutdown(client.get(), SHUT_WR);
    const auto answer = parse_http_response(received(client));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, page);
}

TEST_F(HostileHttp, AClientThatDisconnectsDuringARequestIsForgotten) {
    for (int i = 0; i < 2000; ++i) {
        const Fd client = connected(port());
        send_text(client, kScrape.substr(0, static_cast<std::size_t>(i) % kScrape.size()));
        if (i % 2 == 0) ::shutdown(client.get(), SHUT_WR);
    }
    EXPECT_TRUE(scrape_is_right());
}

TEST_F(HostileHttp, OnlyTheFirstOfPipelinedRequestsIsAnswered) {
    const std::string answer = raw_exchange(port(), kScrape + kScrape + kScrape);
    std::size_t answers = 0;
    for (auto at = answer.find("HTTP/1.1 "); at != std::string::npos; at = answer.find("HTTP/1.1 ", at + 1)) ++answers;
    EXPECT_EQ(answers, 1);
    EXPECT_TRUE(scrape_is_right());
}

TEST_F(HostileHttp, AnswersHeadAndRefusesOtherMethodsAndOddPaths) {
    const std::string head = get(port(), "/metrics", "HEAD");
    EXPECT_EQ(status_of(head), 200);
    EXPECT_TRUE(head.ends_with("\r\n\r\n"));
    EXPECT_NE(head.find("Content-Length: " + std::to_string(page.size()) + "\r\n"), std::string::npos) << head;
    for (const auto* method : {"POST", "CONNECT", "TRACE", "get", "M-SEARCH"})
        EXPECT_EQ(status_of(get(port(), "/metrics", method)), 405) << method;
    for (const auto* path : {"/%2e%2e/etc/passwd", "//metrics", "/metrics%00", "/METRICS", "*", "http://x/metrics"})
        EXPECT_THAT(status_of(get(port(), path)), testing::AnyOf(400, 404)) << path;
    EXPECT_TRUE(scrape_is_right());
}

TEST(SlowReader, OfALongAnswerIsCutOffAndDelaysNoOther) {
    const std::string body(24 << 20, 'x');
    auto server = HttpServer::on_tcp(
        kAnyPort,
        [&](const HttpRequest& request) { return HttpResponse{.body = request.path == "/long" ? body : "short"}; },
        {.request = Seconds{1}});
    ASSERT_TRUE(server);
    const Fd slow = connected(server->port());
    const int room = 256 << 10;  // otherwise the kernel would buffer most of the response
    ASSERT_EQ(::setsockopt(slow.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
    // The server never reads the bytes after the request. So when it closes the connection, the kernel sends a reset at
    // once, which is the event to wait for: a FIN would come only after the response.
    send_text(slow, "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n" + std::string(64 << 10, 'x'));
    std::vector<char> chunk(16 << 10);
    ASSERT_EQ(::recv(slow.get(), chunk.data(), 1, 0), 1);  // the server has made the response
    EXPECT_EQ(status_of(get(server->port(), "/")), 200);
    pollfd reset{.fd = slow.get(), .events = 0, .revents = 0};  // POLLERR and POLLHUP need not be asked for
    std::string got;
    // 1.6 MiB/s: the whole response would take 15 s, and the server can write often enough for libmicrohttpd, which has
    // a limit of its own for idle connections.
    while (::poll(&reset, 1, 10) == 0) {
        const ssize_t n = ::recv(slow.get(), chunk.data(), chunk.size(), 0);
        if (n <= 0) break;
        got.append(chunk.data(), static_cast<std::size_t>(n));
    }
    got += received(slow);
    EXPECT_LT(got.size(), body.size() / 2);
    EXPECT_EQ(status_of(get(server->port(), "/")), 200);
}

}  // namespace http_server_hostile_test
}  // namespace memscope
