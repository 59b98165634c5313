#include "watch/self/pulse.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "base/text.h"
#include "watch/clock.h"

namespace memscope {
namespace {

std::string taken_from_environment(const char* name) {
    const char* value = std::getenv(name);
    std::string text = value ? value : "";
    ::unsetenv(name);
    return text;
}

}  // namespace

std::optional<std::string> Heartbeat::trouble(std::uint64_t now_ns) const {
    const std::uint64_t last = last_ns_;
    if (resting_ || last == 0 || now_ns <= last) return std::nullopt;
    const Seconds since(static_cast<double>(now_ns - last) * 1e-9);
    if (since < bound_) return std::nullopt;
    return fmt::format("memscope has not measured anything for {:.0f} s: its ticks have stopped", since.count());
}

ServiceNotifier ServiceNotifier::from_environment() {
    std::string address = taken_from_environment("NOTIFY_SOCKET");
    const auto microseconds = parse_number(taken_from_environment("WATCHDOG_USEC"));
    const std::string process = taken_from_environment("WATCHDOG_PID");
    if (address.empty()) return {};
    std::optional<Seconds> watchdog;
    if (microseconds && *microseconds > 0 && (process.empty() || process == std::to_string(::getpid())))
        watchdog = Seconds(static_cast<double>(*microseconds) * 1e-6);
    return {std::move(address), watchdog};
}

ServiceNotifier::ServiceNotifier(std::string address, std::optional<Seconds> watchdog)
    : address_(std::move(address)), watchdog_(watchdog), socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

void ServiceNotifier::say(std::string_view state) const {
    sockaddr_un to{};
    if (!socket_ || address_.empty() || address_.size() >= sizeof to.sun_path) return;
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address_.data(), address_.size());
    if (to.sun_path[0] == '@') to.sun_path[0] = '\0';  // an abstract socket
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    (void)::sendto(socket_.get(), state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                   reinterpret_cast<const sockaddr*>(&to), length);
}

std::optional<Seconds> ServiceNotifier::watchdog_every() const {
    if (!watchdog_) return std::nullopt;
    return *watchdog_ / 3;
}

namespace {

Seconds now() { return std::chrono::nanoseconds(read_clock().boot_ns); }

}  // namespace

Status Pulse::start(Wakeups& wakeups) const {
    const auto every = service_.watchdog_every();
    return every ? wakeups.notify_watchdog_every(*every) : Done{};
}

void Pulse::ticked() const { heartbeat_->beat(read_clock().boot_ns); }

void Pulse::notify_watchdog() const {
    if (!heartbeat_->trouble(read_clock().boot_ns)) service_.say("WATCHDOG=1");
}

void Pulse::stopping() const {
    heartbeat_->rest();
    service_.say("STOPPING=1");
}

bool Pulse::stopped_within(Wakeups& wakeups, Seconds time, int fd) const {
    const Seconds until = now() + time;
    for (;;) {
        notify_watchdog();
        const Seconds began = now();
        const Seconds left = std::max(until - began, Seconds{0});
        const Seconds step = std::min(left, service_.watchdog_every().value_or(left));
        if (wakeups.stopped_within(step, fd)) return true;
        const bool is_readable = now() - began < step;  // it returned early because of `fd`
        if (is_readable || now() >= until) return false;
    }
}

}  // namespace memscope
