#include "watch/self/watcher_sockets.h"

#include <cstdlib>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/fake_tree.h"

namespace memscope {
namespace watcher_sockets_test {

using testing::ElementsAre;
using testing::IsEmpty;

Fd bound(const fs::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << path;
    return socket;
}

TEST(WatcherSockets, LeavesTheSocketOfAWatcherThatDoesNotListenYet) {
    const FakeTree tree{{"proc/12/", ""}, {"run/", ""}};
    const Fd starting = bound(tree.at("run/12.sock"));
    const WatcherSockets sockets = find_watcher_sockets(tree.root());
    EXPECT_THAT(sockets.alive, IsEmpty());
    EXPECT_THAT(sockets.stale, IsEmpty());
    remove_stale_sockets(tree.root());
    EXPECT_TRUE(fs::exists(tree.at("run/12.sock")));
    ASSERT_EQ(::listen(starting.get(), 1), 0);
    EXPECT_THAT(find_watcher_sockets(tree.root()).alive, ElementsAre(tree.at("run/12.sock")));
}

TEST(WatcherSockets, RemovesTheSocketOfADeadWatcher) {
    const FakeTree tree{{"proc/12/", ""}, {"run/", ""}};
    bound(tree.at("run/13.sock"));
    EXPECT_THAT(find_watcher_sockets(tree.root()).stale, ElementsAre(tree.at("run/13.sock")));
    remove_stale_sockets(tree.root());
    EXPECT_FALSE(fs::exists(tree.at("run/13.sock")));
}

TEST(WatcherSockets, ASocketWithAListenerIsAliveUnderAnyName) {
    const FakeTree tree{{"proc/", ""}, {"run/", ""}};
    const Fd listening = bound(tree.at("run/14.sock"));
    ASSERT_EQ(::listen(listening.get(), 1), 0);
    EXPECT_THAT(find_watcher_sockets(tree.root()).alive, ElementsAre(tree.at("run/14.sock")));
    remove_stale_sockets(tree.root());
    EXPECT_TRUE(fs::exists(tree.at("run/14.sock")));
}

TEST(WatcherSockets, KeepsASocketWhoseNameIsNoPid) {
    const FakeTree tree{{"proc/", ""}, {"run/", ""}};
    bound(tree.at("run/other.sock"));
    remove_stale_sockets(tree.root());
    EXPECT_TRUE(fs::exists(tree.at("run/other.sock")));
}

TEST(WatcherSockets, WithoutTheDirectoryThereAreNoSockets) {
    const FakeTree tree;
    EXPECT_THAT(find_watcher_sockets(tree.root()).alive, IsEmpty());
    remove_stale_sockets(tree.root());
}

struct OwnSocket : testing::Test {
    FakeTree tree{{"proc/", ""}, {"run/", ""}};
    std::string name = std::to_string(::getpid()) + ".sock";

    ~OwnSocket() override { ::unsetenv("RUNTIME_DIRECTORY"); }
};

TEST_F(OwnSocket, IsInTheRunDirectoryWithoutAServiceDirectory) {
    EXPECT_EQ(own_socket(tree.root()), tree.at("run") / name);
}

TEST_F(OwnSocket, IsInTheRuntimeDirectoryOfTheService) {
    ::setenv("RUNTIME_DIRECTORY", tree.at("run/service").c_str(), 1);
    EXPECT_EQ(own_socket(tree.root()), tree.at("run/service") / name);
}

TEST_F(OwnSocket, IsNotInTheDirectoryOfAnotherService) {
    ::setenv("RUNTIME_DIRECTORY", "/run/agent", 1);
    EXPECT_EQ(own_socket(tree.root()), tree.at("run") / name);
}

TEST_F(OwnSocket, IsFoundInBothDirectoriesButNotBelowThem) {
    fs::create_directories(tree.at("run/service/deep"));
    std::vector<Fd> sockets;
    for (const char* path : {"run/1.sock", "run/service/2.sock", "run/service/deep/3.sock"}) {
        sockets.push_back(bound(tree.at(path)));
        ASSERT_EQ(::listen(sockets.back().get(), 1), 0);
    }
    EXPECT_THAT(find_watcher_sockets(tree.root()).alive,
                ElementsAre(tree.at("run/1.sock"), tree.at("run/service/2.sock")));
}

}  // namespace watcher_sockets_test
}  // namespace memscope
