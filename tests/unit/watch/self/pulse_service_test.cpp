#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "watch/self/pulse.h"

namespace memscope {
namespace pulse_service_test {

// What a service manager has: a datagram socket in the abstract namespace.
class Manager {
  public:
    Manager() : name_("@memscope-test-" + std::to_string(::getpid())), socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, name_.data(), name_.size());
        address.sun_path[0] = '\0';
        const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
        EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
    }
    const std::string& name() const { return name_; }
    std::string heard() const {
        char text[256];
        const ssize_t n = ::recv(socket_.get(), text, sizeof text, MSG_DONTWAIT);
        return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : std::string();
    }

  private:
    std::string name_;
    Fd socket_;
};

TEST(ServiceNotifier, NotifiesTheManagerThatItsEnvironmentNames) {
    const Manager manager;
    ::setenv("NOTIFY_SOCKET", manager.name().c_str(), 1);
    ::setenv("WATCHDOG_USEC", "30000000", 1);
    ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
    const ServiceNotifier notifier = ServiceNotifier::from_environment();
    notifier.say("READY=1");
    EXPECT_EQ(manager.heard(), "READY=1");
    EXPECT_EQ(notifier.watchdog_every(), Seconds{10});
    EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr) << "it is not for commands that are started";
    EXPECT_EQ(std::getenv("WATCHDOG_USEC"), nullptr);
}

TEST(ServiceNotifier, IgnoresTheWatchdogOfAnotherProcess) {
    ::setenv("NOTIFY_SOCKET", "@nobody", 1);
    ::setenv("WATCHDOG_USEC", "30000000", 1);
    ::setenv("WATCHDOG_PID", "1", 1);
    EXPECT_FALSE(ServiceNotifier::from_environment().watchdog_every());
}

TEST(ServiceNotifier, WithoutAManagerItSaysNothing) {
    const ServiceNotifier notifier = ServiceNotifier::from_environment();
    notifier.say("READY=1");
    EXPECT_FALSE(notifier.watchdog_every());
}

TEST(ServiceNotifier, DoesNotWaitForAManagerThatDoesNotRead) {
    const Manager manager;
    const ServiceNotifier notifier(manager.name(), Seconds{3});
    for (int i = 0; i < 100'000; ++i) notifier.say("WATCHDOG=1");
    EXPECT_EQ(manager.heard(), "WATCHDOG=1");
}

}  // namespace pulse_service_test
}  // namespace memscope
