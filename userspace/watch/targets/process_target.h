#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "watch/targets/target_source.h"

namespace memscope {

// One process and all its descendants, in any cgroups.
class ProcessTarget : public TargetSource {
  public:
    // Reads the command line of the process, which names the target. A process can block this read for ever, so a
    // helper process should do it.
    using ReadArgv = std::function<std::vector<std::string>(const ProcessId&)>;
    static Result<std::unique_ptr<ProcessTarget>> open(const SysRoot& root, const CgroupHierarchy& hierarchy, pid_t pid,
                                                       const ReadArgv& read_argv);

    // The id that the BPF programs give to every process of the tree. No cgroup has this id, because the kernel counts
    // the ids of cgroups up from 1.
    static constexpr CgroupId kTree{std::uint64_t{1} << 63U};

    Changes refresh() override;
    bool finished(std::size_t living) const override { return living == 0; }

  private:
    explicit ProcessTarget(NewTarget tree) : tree_(std::move(tree)) {}
    std::optional<NewTarget> tree_;  // until the first refresh() hands it over
};

// The BPF map of the processes that are followed by pid.
struct FollowedPids {
    std::function<Status(pid_t)> add{};
    std::function<void(pid_t)> remove{};
};

// Adds a process and its present descendants to the map. From then on the BPF programs add each child at its fork and
// remove each process at its exit. A process can end after it was found in /proc and before its pid is in the map. Then
// no exit event removes the pid, and the next process with this pid would join the tree. So each process is checked
// again once it is in the map, and removed unless it is still the same process with a running thread. An error if the
// map is full, or if none of the processes runs any more.
Status follow_tree(const SysRoot& root, pid_t pid, const FollowedPids& map);

}  // namespace memscope
