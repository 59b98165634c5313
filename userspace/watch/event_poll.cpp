#include "watch/event_poll.h"

#include <cerrno>
#include <sys/epoll.h>

namespace memscope {

EventPoll::EventPoll() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

Status EventPoll::add(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        return system_error(errno, "wait for events of the kernel");
    added_.insert(fd);
    return Done{};
}

}  // namespace memscope
