#pragma once
#include <set>

#include "base/fd.h"
#include "base/result.h"

namespace memscope {

// One file descriptor that becomes readable when any of several becomes readable.
class EventPoll {
  public:
    EventPoll();

    int fd() const { return epoll_.get(); }
    Status add(int fd);
    bool has(int fd) const { return added_.contains(fd); }

  private:
    Fd epoll_;
    std::set<int> added_{};
};

}  // namespace memscope
