#pragma once
#include <optional>

#include "base/files.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "watch/targets/target_source.h"

namespace memscope {

// One process and all its descendants, in whatever cgroups they are.
class ProcessTarget : public TargetSource {
  public:
    static Result<std::unique_ptr<ProcessTarget>> open(const SysRoot& root, const CgroupHierarchy& hierarchy,
                                                       pid_t pid);

    // The id that the BPF programs give to every process of the tree. No cgroup has this id, because the kernel counts
    // the ids of cgroups up from 1.
    static constexpr CgroupId kTree{std::uint64_t{1} << 63U};

    Changes refresh() override;
    bool finished(std::size_t living) const override { return living == 0; }

  private:
    explicit ProcessTarget(NewTarget tree) : tree_(std::move(tree)) {}
    std::optional<NewTarget> tree_;  // until the first refresh() hands it over
};

}  // namespace memscope
