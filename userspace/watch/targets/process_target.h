#pragma once
#include "base/files.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "watch/targets/target.h"

namespace memscope {

// One process and all its descendants, wherever they are.
class ProcessTarget : public Targets {
  public:
    static Result<std::unique_ptr<ProcessTarget>> open(const SysRoot& root, const CgroupHierarchy& hierarchy,
                                                       pid_t pid);

    // The id the kernel side gives everyone in the tree. No cgroup has it: those ids are counted up from 1.
    static constexpr CgroupId kTree{std::uint64_t{1} << 63U};

    Changes refresh() override;
    bool finished(std::size_t living) const override { return living == 0; }

  private:
    explicit ProcessTarget(Target target);
    bool announced_ = false;
};

}  // namespace memscope
