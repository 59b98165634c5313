#pragma once
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "base/units.h"

namespace memscope {

// Waits on descriptors that share one time budget. Uses a timerfd, so no clock is read here.
class Deadline {
  public:
    static Result<Deadline> in(Seconds budget);

    enum class Wait { ready, expired };
    Wait wait_for(int fd, short events) const;  // poll(2) events; errors of the descriptor count as ready

  private:
    explicit Deadline(Fd timer) : timer_(std::move(timer)) {}
    Fd timer_;
};

}  // namespace memscope
