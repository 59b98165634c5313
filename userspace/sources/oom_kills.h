#pragma once
#include <cstdint>
#include <map>

#include "base/result.h"
#include "sources/cgroup_directory.h"

namespace memscope {

// OOM kills in a cgroup and below it, on cgroup v1. There the counter rises in the victim's own cgroup, so the
// subtree is summed; what a child had counted stays counted when the child is removed.
class OomKills {
  public:
    Result<std::uint64_t> sum_up(const CgroupDirectory& top);  // walks the subtree
    std::uint64_t total() const { return total_; }

    // What one walk saw, by cgroup. An incomplete one says nothing about the cgroups that it did not see.
    using Counts = std::map<CgroupId, std::uint64_t>;
    void take(const Counts& seen, bool complete);

  private:
    Counts last_;
    std::uint64_t total_ = 0;
};

}  // namespace memscope
