#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "model/growth/host_tensors.h"
#include "model/growth/trough.h"

namespace memscope {

// Memory of call stacks that is likely to be freed soon. In libraries without frame pointers the native stacks are
// partly random. So one line of a program has new stacks at every step, and these stacks have no earlier values.
// Therefore the stacks of a process with the same calls of Python have one trough. Stacks without such calls have their
// own.
class StackTroughs {
  public:
    static constexpr std::size_t kMostTroughs = std::size_t{4} * MS_HOST_CALLS;

    // The bytes of each site that are likely to be freed soon, in the order of `reading.sites`. Calls that hold
    // nothing are removed from the BPF map, so a call that is not in the reading keeps its trough until the trough is
    // too old. If there are too many troughs, those of calls that are not in the reading are dropped at once.
    std::vector<std::int64_t> passing(const HostTensorReading& reading, Seconds now);

  private:
    std::map<HostTensorReading::Calls, Trough> troughs_{};
};

}  // namespace memscope
