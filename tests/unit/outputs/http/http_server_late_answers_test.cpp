#include <future>
#include <gmock/gmock.h>
#include <poll.h>
#include <thread>
#include <vector>

#include "outputs/http/http_server.h"
#include "raw_client.h"

namespace memscope {
namespace http_server_late_answers_test {

using test::connected;
using test::get;
using test::received;
using test::send_text;
using test::status_of;
using testing::HasSubstr;

// A server whose /slow and /slowest are answered once `let_go` is set, /late at once but in another thread, and other
// paths at once.
struct LateAnswers : testing::Test {
    std::promise<void> let_go;
    std::shared_future<void> gone = let_go.get_future().share();
    std::promise<void> begun;
    bool is_begun = false;
    std::optional<HttpServer> server = start();

    HttpServer start() {
        auto started = HttpServer::on_tcp({"127.0.0.1", 0}, [this](const HttpRequest& request) -> HttpResponse {
            if (request.path == "/late") return {.later = [] { return HttpResponse{.body = "late\n"}; }};
            if (!request.path.starts_with("/slow")) return {.body = "fast\n"};
            return {.later =
                        [this] {
                            if (!std::exchange(is_begun, true)) begun.set_value();
                            gone.wait();
                            return HttpResponse{.body = "slow\n"};
                        },
                    .slow = request.path == "/slowest"};
        });
        if (!started) throw std::runtime_error(started.error().message());
        return std::move(*started);
    }
    Fd ask_slowly(const std::string& path = "/slow") const {
        Fd socket = connected(server->port());
        send_text(socket, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        return socket;
    }
};

TEST_F(LateAnswers, OtherRequestsAreAnsweredDuringALateAnswer) {
    const Fd slow = ask_slowly();
    begun.get_future().wait();
    EXPECT_EQ(status_of(get(server->port(), "/metrics")), 200);
    let_go.set_value();
    EXPECT_THAT(received(slow), HasSubstr("slow"));
}

TEST_F(LateAnswers, AreNotDelayedByASlowerLateAnswer) {
    const Fd slowest = ask_slowly("/slowest");
    begun.get_future().wait();
    EXPECT_THAT(get(server->port(), "/late"), HasSubstr("late"));
    let_go.set_value();
    EXPECT_THAT(received(slowest), HasSubstr("slow"));
}

TEST_F(LateAnswers, AreMadeOneAfterTheOtherAndAllArrive) {
    std::vector<Fd> sockets;
    for (int i = 0; i < 8; ++i) sockets.push_back(ask_slowly());
    begun.get_future().wait();
    let_go.set_value();
    for (const Fd& socket : sockets) EXPECT_THAT(received(socket), HasSubstr("slow"));
}

TEST_F(LateAnswers, AreRefusedIfTooManyWait) {
    std::vector<Fd> sockets;
    for (int i = 0; i < 40; ++i) sockets.push_back(ask_slowly());
    begun.get_future().wait();
    std::vector<pollfd> answered;
    for (const Fd& socket : sockets) answered.push_back({.fd = socket.get(), .events = POLLIN, .revents = 0});
    ASSERT_GT(::poll(answered.data(), answered.size(), 60'000), 0) << "nobody is refused";
    let_go.set_value();
    int refused = 0;
    for (const Fd& socket : sockets) refused += status_of(received(socket)) == 503;
    EXPECT_GT(refused, 0);
    EXPECT_LT(refused, 40);
}

TEST_F(LateAnswers, DoNotOutliveTheServer) {
    const Fd first = ask_slowly();
    begun.get_future().wait();
    const Fd second = ask_slowly();
    EXPECT_EQ(status_of(get(server->port(), "/metrics")), 200);  // so the server has also accepted the second request
    std::thread ending([this] { server.reset(); });
    let_go.set_value();
    ending.join();
    EXPECT_NE(status_of(received(first)), 404);
    (void)received(second);
}

TEST_F(LateAnswers, AreDroppedIfTheClientHasDisconnected) {
    {
        const Fd gone_client = ask_slowly();
        begun.get_future().wait();
    }
    let_go.set_value();
    EXPECT_EQ(status_of(get(server->port(), "/metrics")), 200);
}

}  // namespace http_server_late_answers_test
}  // namespace memscope
