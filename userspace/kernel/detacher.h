#pragma once
#include <future>
#include <vector>

#include "kernel/handles.h"

namespace memscope {

// Takes user probes off without making anybody wait: the kernel lets go of each when nobody can be inside it any more,
// which takes a tenth of a second, and there are dozens.
class Detacher {
  public:
    Detacher() = default;
    Detacher(const Detacher&) = delete;
    Detacher& operator=(const Detacher&) = delete;
    ~Detacher() = default;  // waits for all of them

    void let_go(std::vector<Link> links);

  private:
    std::vector<std::future<void>> under_way_{};
};

}  // namespace memscope
