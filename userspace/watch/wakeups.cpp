#include "watch/wakeups.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

namespace memscope {
namespace {

Status add(const Fd& epoll, int fd, Wake wake, std::uint32_t events = EPOLLIN) {
    epoll_event event{};
    event.events = events;
    event.data.u32 = static_cast<std::uint32_t>(wake);
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) return system_error(errno, "epoll_ctl");
    return Done{};
}

timespec to_timespec(Seconds time) {
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    return {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

Status start_timer(const Fd& timer, Seconds interval) {
    const timespec step = to_timespec(interval);
    const itimerspec setting{.it_interval = step, .it_value = step};
    if (::timerfd_settime(timer.get(), 0, &setting, nullptr) != 0) return system_error(errno, "start the timer");
    return Done{};
}

}  // namespace

Result<Wakeups> Wakeups::open(bool for_command) {
    sigset_t ends;
    ::sigemptyset(&ends);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&ends, number);
    if (for_command)
        for (const int number : {SIGQUIT, SIGUSR1, SIGUSR2}) ::sigaddset(&ends, number);
    sigset_t blocked = ends;
    if (!for_command)
        ::sigaddset(&blocked, SIGWINCH);  // else the kernel may deliver it to another thread, where it has no effect
    if (::pthread_sigmask(SIG_BLOCK, &blocked, nullptr) != 0) return system_error(errno, "block signals");
    Wakeups wakeups(Fd(::epoll_create1(EPOLL_CLOEXEC)), Fd(::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK)),
                    Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
                    Fd(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)));
    if (!wakeups.epoll_ || !wakeups.signals_ || !wakeups.timer_ || !wakeups.reminder_)
        return system_error(errno, "make the event loop");
    if (auto added = add(wakeups.epoll_, wakeups.signals_.get(), Wake::stop); !added) return added.error();
    if (auto added = add(wakeups.epoll_, wakeups.timer_.get(), Wake::tick); !added) return added.error();
    if (auto added = add(wakeups.epoll_, wakeups.reminder_.get(), Wake::reminder); !added) return added.error();
    return wakeups;
}

Status Wakeups::watch_command(int started_fd, int ended_fd) {
    if (auto added = add(epoll_, started_fd, Wake::command_started); !added) return added;
    return add(epoll_, ended_fd, Wake::command_ended);
}
Status Wakeups::watch_actions(int fd) { return add(epoll_, fd, Wake::action_ended); }
Status Wakeups::watch_events(int fd) { return add(epoll_, fd, Wake::events); }

Status Wakeups::watch_output(int fd) {
    auto added = add(epoll_, fd, Wake::output, EPOLLOUT | EPOLLET);
    if (!added && added.error().code.value() == EPERM) return Done{};  // a file, or a device such as /dev/null
    return added;
}

Status Wakeups::watch_terminal(int keys) {
    sigset_t resize;
    ::sigemptyset(&resize);
    ::sigaddset(&resize, SIGWINCH);
    resizes_ = Fd(::signalfd(-1, &resize, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!resizes_) return system_error(errno, "signalfd");
    if (auto added = add(epoll_, resizes_.get(), Wake::resize); !added) return added;
    return add(epoll_, keys, Wake::keys);
}

Status Wakeups::tick_every(Seconds interval) { return start_timer(timer_, interval); }

// Cannot fail, because the descriptor is a timer and the time is valid.
void Wakeups::remind_in(Seconds time) {
    constexpr Seconds kShortest{0.001};  // 0 would disarm the timer
    const itimerspec setting{.it_interval = {}, .it_value = to_timespec(std::max(time, kShortest))};
    (void)::timerfd_settime(reminder_.get(), 0, &setting, nullptr);
}

Status Wakeups::notify_watchdog_every(Seconds interval) {
    alive_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!alive_) return system_error(errno, "timerfd");
    if (auto started = start_timer(alive_, interval); !started) return started;
    return add(epoll_, alive_.get(), Wake::watchdog);
}

Wake Wakeups::wait() {
    epoll_event ready[8];
    int count = 0;
    do count = ::epoll_wait(epoll_.get(), ready, std::size(ready), -1);
    while (count < 0 && errno == EINTR);
    Wake wake = Wake::events;
    for (int i = 0; i < count; ++i) {
        const auto said = static_cast<Wake>(ready[i].data.u32);
        if (said == Wake::stop) {
            signalfd_siginfo info{};
            if (::read(signals_.get(), &info, sizeof info) == sizeof info)
                signal_ = {static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
            return said;
        }
        const bool terminal = said == Wake::keys || said == Wake::resize;
        // The next call reports these wakes again.
        const bool can_wait = terminal || said == Wake::watchdog || said == Wake::reminder;
        // `output` is reported only once. Another wake may replace it, because every wake writes pending output.
        const bool must_not_wait =
            wake == Wake::command_ended || (can_wait && (wake == Wake::tick || wake == Wake::output));
        if (said != Wake::events && !must_not_wait) wake = said;
    }
    std::uint64_t expirations = 0;  // missed ticks are not repeated
    if (wake == Wake::tick) [[maybe_unused]]
        const auto n = ::read(timer_.get(), &expirations, sizeof expirations);
    if (wake == Wake::watchdog) [[maybe_unused]]
        const auto n = ::read(alive_.get(), &expirations, sizeof expirations);
    if (wake == Wake::reminder) [[maybe_unused]]
        const auto n = ::read(reminder_.get(), &expirations, sizeof expirations);
    signalfd_siginfo resize{};
    if (wake == Wake::resize) [[maybe_unused]]
        const auto n = ::read(resizes_.get(), &resize, sizeof resize);
    return wake;
}

bool Wakeups::stopped_within(Seconds time, int fd) {
    pollfd fds[] = {{signals_.get(), POLLIN, 0}, {fd, POLLIN, 0}};
    return ::poll(fds, std::size(fds), static_cast<int>(time.count() * 1000)) > 0 && fds[0].revents != 0;
}

}  // namespace memscope
