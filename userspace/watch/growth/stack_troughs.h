#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "kernel/features/host_tensors.h"
#include "model/growth/trough.h"

namespace memscope {

// Memory of call stacks that is likely to be freed soon. Libraries without frame pointers give native stacks that are
// partly random, so that one line of a program has new stacks at every step, and none of them has a past. Therefore the
// stacks of a process with the same calls of Python have one trough. Stacks without such calls have their own.
class StackTroughs {
  public:
    // Of each site the part of its bytes. Troughs of calls that are not in the reading are forgotten.
    std::vector<std::int64_t> passing(const HostTensorReading& reading, Seconds now);

  private:
    std::map<HostTensorReading::Calls, Trough> troughs_{};
};

}  // namespace memscope
