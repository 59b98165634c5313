#pragma once
#include <sys/types.h>
#include <utility>

#include "demo/scenario.h"
#include "demo/stage_clock.h"
#include "watch/own_cgroup.h"

namespace memscope {

// The processes of a scenario. Each dies with the one that made it, the first with us: nothing outlives a kill -9.
class DemoTree {
  public:
    // Returns when every process is there, has its name and holds what it holds at the start.
    static Result<DemoTree> start(const Actor& top, OwnCgroup& cgroup, const StageClock& clock);
    DemoTree(DemoTree&& other) noexcept : top_(std::exchange(other.top_, 0)) {}
    DemoTree& operator=(DemoTree&&) = delete;
    ~DemoTree();  // kills and reaps them all

  private:
    explicit DemoTree(pid_t top) : top_(top) {}
    pid_t top_ = 0;  // 0: moved away
};

}  // namespace memscope
