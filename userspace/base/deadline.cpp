#include "base/deadline.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <poll.h>
#include <sys/timerfd.h>

namespace memscope {

Result<Deadline> Deadline::in(Seconds budget) {
    Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer) return system_error(errno, "timerfd_create");
    const double seconds = std::clamp(budget.count(), 1e-6, 1e9);  // 0 would disarm it
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(seconds);
    when.it_value.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
    if (::timerfd_settime(timer.get(), 0, &when, nullptr) != 0) return system_error(errno, "timerfd_settime");
    return Deadline(std::move(timer));
}

Deadline::Wait Deadline::wait_for(int fd, short events) const {
    pollfd fds[] = {{fd, events, 0}, {timer_.get(), POLLIN, 0}};
    for (;;) {
        const int n = ::poll(fds, std::size(fds), -1);
        if (n < 0 && errno == EINTR) continue;
        // The timer is checked first, so that a busy descriptor cannot exceed the budget.
        if (n < 0 || fds[1].revents != 0) return Wait::expired;
        return Wait::ready;
    }
}

}  // namespace memscope
