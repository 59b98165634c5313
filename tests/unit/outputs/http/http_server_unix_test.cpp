#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "outputs/http/http_client.h"
#include "outputs/http/http_server.h"

namespace memscope {
namespace http_server_unix_test {

using testing::HasSubstr;

struct UnixHttp : testing::Test {
    fs::path directory = fs::path(testing::TempDir()) / ("memscope_http_" + std::to_string(::getpid()));
    fs::path socket = directory / "run" / "watcher.sock";
    ~UnixHttp() override { fs::remove_all(directory); }
    HttpHandler hello = [](const HttpRequest& request) { return HttpResponse{.body = "hello " + request.path}; };
};

TEST_F(UnixHttp, TheSocketIsForItsOwnerAndGroupOnly) {
    {
        auto server = HttpServer::on_unix(socket, hello);
        ASSERT_TRUE(server) << server.error().message();
        EXPECT_EQ(server->port(), 0);
        struct stat file{};
        ASSERT_EQ(::stat(socket.c_str(), &file), 0);
        EXPECT_EQ(file.st_mode & 07777U, 0660U);
        ASSERT_EQ(::stat(socket.parent_path().c_str(), &file), 0);
        EXPECT_EQ(file.st_mode & 07777U, 0755U);
        const auto answer = http_get_unix(socket, "/x?y=z", Seconds{5});
        ASSERT_TRUE(answer) << answer.error().message();
        EXPECT_EQ(answer->status, 200);
        EXPECT_EQ(answer->body, "hello /x");
    }
    EXPECT_FALSE(fs::exists(socket));
}

TEST_F(UnixHttp, ReplacesAStaleSocketButNotALiveOne) {
    fs::create_directories(socket.parent_path());
    {
        const Fd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        socket.native().copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    auto first = HttpServer::on_unix(socket, hello);
    ASSERT_TRUE(first) << first.error().message();
    const auto second = HttpServer::on_unix(socket, hello);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message(), HasSubstr("Address already in use"));
    EXPECT_TRUE(http_get_unix(socket, "/", Seconds{5}));
}

TEST_F(UnixHttp, AFileThatIsNoSocketIsLeftAlone) {
    fs::create_directories(socket.parent_path());
    Fd file(::open(socket.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    EXPECT_FALSE(HttpServer::on_unix(socket, hello));
    EXPECT_TRUE(fs::is_regular_file(socket));
}

TEST_F(UnixHttp, TheClientReturnsErrors) {
    EXPECT_THAT(http_get_unix(socket, "/", Seconds{1}).error().message(), HasSubstr("No such file"));
    EXPECT_FALSE(http_get_unix(socket, "/a b", Seconds{1}));
    EXPECT_FALSE(http_get_unix(socket, "/a\r\nX: y", Seconds{1}));
    EXPECT_FALSE(http_get_unix(std::string(200, 'x'), "/", Seconds{1}));
}

TEST_F(UnixHttp, TheClientDoesNotWaitForEver) {
    fs::create_directories(socket.parent_path());
    const Fd mute(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    socket.native().copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(mute.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(mute.get(), 1), 0);
    EXPECT_THAT(http_get_unix(socket, "/", Seconds{0.1}).error().message(), HasSubstr("timed out"));
}

}  // namespace http_server_unix_test
}  // namespace memscope
