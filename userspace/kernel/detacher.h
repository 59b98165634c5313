#pragma once
#include <future>
#include <vector>

#include "kernel/user_probes.h"

namespace memscope {

// Takes user probes off without making anybody wait: the kernel lets go of them one after the other, of each when
// nobody can be inside it any more, which takes a tenth of a second. What is attached meanwhile waits for that, too.
class Detacher {
  public:
    Detacher() = default;
    Detacher(const Detacher&) = delete;
    Detacher& operator=(const Detacher&) = delete;
    ~Detacher() = default;  // waits for all of them

    void let_go(std::vector<UserProbe> probes);

  private:
    std::vector<std::future<void>> under_way_{};
};

}  // namespace memscope
