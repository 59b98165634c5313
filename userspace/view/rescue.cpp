#include "view/rescue.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <unistd.h>

namespace memscope::view {
namespace {

constexpr int kDeadly[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT};

// Plain memory, because a signal handler reads it.
struct Rescued {
    std::atomic<bool> armed = false;
    int fd = -1;
    termios modes{};
    char farewell[256]{};
    std::size_t length = 0;
    struct sigaction before[std::size(kDeadly)]{};
};
Rescued rescued;  // NOLINT(readability-identifier-naming): no constant

void put_back() {  // only calls that are safe in a signal handler
    if (!rescued.armed.exchange(false)) return;
    [[maybe_unused]] const auto ignored = ::write(rescued.fd, rescued.farewell, rescued.length);
    ::tcsetattr(rescued.fd, TCSANOW, &rescued.modes);
}

void put_back_and_die(int number) {
    put_back();
    for (std::size_t i = 0; i < std::size(kDeadly); ++i)
        if (kDeadly[i] == number) ::sigaction(number, &rescued.before[i], nullptr);
    ::raise(number);  // comes when the handler returns
}

}  // namespace

Rescue::Rescue(int fd, const termios& modes, const std::string& farewell) {
    static const int kOnce = std::atexit(put_back);
    (void)kOnce;
    rescued.fd = fd;
    rescued.modes = modes;
    rescued.length = std::min(farewell.size(), sizeof rescued.farewell);
    std::memcpy(rescued.farewell, farewell.data(), rescued.length);
    struct sigaction action{};
    action.sa_handler = put_back_and_die;
    for (std::size_t i = 0; i < std::size(kDeadly); ++i) ::sigaction(kDeadly[i], &action, &rescued.before[i]);
    rescued.armed = true;
}

Rescue::~Rescue() {
    rescued.armed = false;
    for (std::size_t i = 0; i < std::size(kDeadly); ++i) ::sigaction(kDeadly[i], &rescued.before[i], nullptr);
}

}  // namespace memscope::view
