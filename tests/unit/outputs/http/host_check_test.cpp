#include "outputs/http/host_check.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "outputs/http/http_server.h"
#include "raw_client.h"

namespace memscope {
namespace host_check_test {

using test::raw_exchange;
using test::received;
using test::send_text;
using test::status_of;
using testing::AllOf;
using testing::HasSubstr;

const ListenAddress kLoopback{"127.0.0.1", 9750};
const ListenAddress kNetwork{"0.0.0.0", 9750};

HttpRequest request(const std::string& host, const std::string& path = "/api/v1/status") {
    return {.path = path, .version = "HTTP/1.1", .hosts = {host}};
}

// 0: the request is answered.
int refused_with(const HostCheck& check, const HttpRequest& request) {
    const auto refusal = check.refusal(request);
    return refusal ? refusal->status : 0;
}

TEST(HostCheck, NumericAddressesAndLocalhostAreAllowedWithAndWithoutPort) {
    const HostCheck check(kLoopback, {});
    for (const char* host : {"127.0.0.1", "127.0.0.1:9750", "10.1.2.3:80", "192.0.2.7", "[::1]", "[::1]:9750", "::1",
                             "[2001:db8::7]:1", "[::ffff:127.0.0.1]:9750", "localhost", "localhost:9750", "LocalHost:1",
                             "localhost.", "localhost.:9750", "localhost:"})
        EXPECT_EQ(refused_with(check, request(host)), 0) << host;
}

TEST(HostCheck, OtherNamesGetStatus421) {
    const HostCheck check(kLoopback, {});
    for (const char* host : {"evil.example",
                             "evil.example:9750",
                             "127.0.0.1.evil.example",
                             "127.0.0.1.evil.example:9750",
                             "localhost.evil.example",
                             "notlocalhost",
                             "127.1",
                             "0x7f000001",
                             "2130706433",
                             "127.0.0.1:x",
                             "127.0.0.1:80:80",
                             "127.0.0.1@evil.example",
                             "[evil.example]",
                             "[::1]evil.example",
                             "[::1",
                             "[fe80::1%25eth0]",
                             "local host",
                             "",
                             ":9750",
                             "[]",
                             "localhost..",
                             "."})
        EXPECT_EQ(refused_with(check, request(host)), 421) << host;
    EXPECT_EQ(refused_with(check, request(std::string("127.0.0.1\0.evil.example", 23))), 421);
}

TEST(HostCheck, TheRefusalNamesTheHostAndTheOption) {
    const auto refusal = HostCheck(kLoopback, {}).refusal(request("evil.example\x1b[2J"));
    ASSERT_TRUE(refusal);
    EXPECT_THAT(refusal->body, AllOf(HasSubstr("evil.example"), HasSubstr("--http-host NAME")));
    EXPECT_EQ(refusal->body.find('\x1b'), std::string::npos);
}

TEST(HostCheck, NamesThatWereGivenAreAllowed) {
    const HostCheck check(kLoopback, {*parse_host_name("Node7.Cluster.Example."), *parse_host_name("n7")});
    for (const char* host : {"node7.cluster.example", "NODE7.cluster.example:9750", "node7.cluster.example.", "n7:80"})
        EXPECT_EQ(refused_with(check, request(host)), 0) << host;
    for (const char* host : {"node8.cluster.example", "cluster.example", "n7.evil.example"})
        EXPECT_EQ(refused_with(check, request(host)), 421) << host;
}

TEST(HostCheck, OnALoopbackAddressEveryPathIsChecked) {
    for (const char* address : {"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"})
        for (const char* path : {"/metrics", "/-/healthy", "/-/ready", "/api/v1/status", "/", "/none"})
            EXPECT_EQ(refused_with(HostCheck({address, 9750}, {}), request("evil.example", path)), 421) << path;
}

TEST(HostCheck, OnANetworkAddressMetricsAndHealthAcceptAnyHost) {
    for (const char* address : {"0.0.0.0", "10.1.2.3", "::", "2001:db8::7", "128.0.0.1", "::ffff:10.1.2.3"}) {
        const HostCheck check({address, 9750}, {});
        for (const char* path : {"/metrics", "/-/healthy", "/-/ready"})
            EXPECT_EQ(refused_with(check, request("node7:9750", path)), 0) << address << path;
        for (const char* path : {"/api/v1/status", "/api/v1/targets", "/api/v1/text", "/api/v1/growth", "/api/v2/new"})
            EXPECT_EQ(refused_with(check, request("node7:9750", path)), 421) << address << path;
        EXPECT_EQ(refused_with(check, request("10.1.2.3:9750")), 0);
    }
}

TEST(HostCheck, SeveralHostHeadersAreABadRequestEvenIfEachIsAllowed) {
    for (const ListenAddress& address : {kLoopback, kNetwork}) {
        HttpRequest two = request("localhost", "/metrics");
        two.hosts.emplace_back("localhost");
        EXPECT_EQ(refused_with(HostCheck(address, {}), two), 400);
    }
}

TEST(HostCheck, OnlyHttp10MayLeaveTheHostOut) {
    const HostCheck check(kLoopback, {});
    EXPECT_EQ(refused_with(check, {.path = "/api/v1/status", .version = "HTTP/1.0"}), 0) << "no browser sends that";
    for (const char* version : {"HTTP/1.1", "HTTP/1.2", "HTTP/0.9", ""})
        EXPECT_EQ(refused_with(check, {.path = "/api/v1/status", .version = version}), 400) << version;
    HttpRequest old = request("evil.example");
    old.version = "HTTP/1.0";
    EXPECT_EQ(refused_with(check, old), 421);
}

TEST(HostCheck, AHostNameHasNoPortNoPatternAndNoAddressInBrackets) {
    EXPECT_EQ(*parse_host_name("Node_7.example"), "node_7.example");
    EXPECT_TRUE(parse_host_name(std::string(253, 'a')));
    for (const std::string& bad :
         {std::string(), std::string("a:80"), std::string("http://a"), std::string("*.a"), std::string("a b"),
          std::string("[::1]"), std::string("."), std::string(255, 'a'), std::string("a\0b", 3)}) {
        const auto name = parse_host_name(bad);
        ASSERT_FALSE(name) << bad;
        EXPECT_THAT(name.error().message(), HasSubstr("without port"));
    }
}

// The check in a running server.
struct CheckedServer : testing::Test {
    int handled = 0;
    Result<HttpServer> server = HttpServer::on_tcp(
        {"127.0.0.1", 0}, [this](const HttpRequest&) { return ++handled, HttpResponse{.body = "secret"}; }, {},
        {"node7"});
    std::string ask(const std::string& headers, const std::string& version = "HTTP/1.1") {
        return raw_exchange(server->port(), "GET /api/v1/status " + version + "\r\n" + headers + "\r\n");
    }
};

TEST_F(CheckedServer, RefusesForeignNamesBeforeTheHandlerIsAsked) {
    const std::string answer = ask("Host: evil.example\r\n");
    EXPECT_EQ(status_of(answer), 421);
    EXPECT_THAT(answer, HasSubstr("--http-host"));
    EXPECT_EQ(status_of(ask("hOsT:evil.example:9750\r\n")), 421);
    EXPECT_EQ(handled, 0);
}

TEST_F(CheckedServer, AnswersToItsOwnNamesInAnySpelling) {
    for (const char* header :
         {"Host: localhost\r\n", "HOST: NODE7:1\r\n", "host:127.0.0.1\r\n", "Host:  [::1]:80 \r\n"})
        EXPECT_EQ(status_of(ask(header)), 200) << header;
}

TEST_F(CheckedServer, RefusesTwoHostsAndHttp11WithoutOne) {
    EXPECT_EQ(status_of(ask("Host: localhost\r\nHost: localhost\r\n")), 400);
    EXPECT_EQ(status_of(ask("Host: localhost\r\nhost: evil.example\r\n")), 400);
    EXPECT_EQ(status_of(ask("")), 400);
    EXPECT_EQ(status_of(ask("Host:\r\n")), 421);
    EXPECT_EQ(handled, 0);
    EXPECT_EQ(status_of(ask("", "HTTP/1.0")), 200);
}

TEST(UnixServer, DoesNotCheckTheHost) {
    const fs::path path = fs::path(testing::TempDir()) / ("memscope_host_" + std::to_string(::getpid()) + ".sock");
    auto server = HttpServer::on_unix(path, [](const HttpRequest&) { return HttpResponse{}; });
    ASSERT_TRUE(server) << server.error().message();
    const Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.native().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    send_text(client, "GET /api/v1/status HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    EXPECT_EQ(status_of(received(client)), 200);
}

}  // namespace host_check_test
}  // namespace memscope
