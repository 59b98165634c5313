#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/features/host_tensors.h"
#include "model/growth/stack.h"
#include "model/growth/trough.h"

namespace memscope {

// Memory of call stacks that is likely to be freed soon. Libraries without frame pointers give native stacks that are
// partly random, so that one line of a program has new stacks at every step, and none of them has a past. Therefore the
// stacks of a process with the same calls of Python count as one.
class StackTroughs {
  public:
    static constexpr std::size_t kMostKnown = 65536;  // stacks; others count alone

    void know(const RawStack& stack);
    // Of each stack the part of its bytes. `sites` are all stacks of one reading; troughs of others are forgotten.
    std::vector<std::int64_t> passing(std::span<const HostTensorSite> sites, Seconds now);

  private:
    using Group = std::pair<SpaceId, std::uint64_t>;
    Group group_of(const HostTensorSite& site) const;
    void forget_all_but(std::span<const HostTensorSite> sites);

    std::unordered_map<StackId, std::uint64_t> calls_{};  // a hash of the calls of Python
    std::map<Group, Trough> troughs_{};
};

}  // namespace memscope
