#pragma once
#include <memory>

#include "base/files.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "watch/targets/target_source.h"
#include "watch/watch_options.h"

namespace memscope {

// Where the targets come from: the cgroups that the user named, the tree of a process, or a cgroup that memscope has
// made.
Result<std::unique_ptr<TargetSource>> open_targets(const SysRoot& root, const CgroupHierarchy& hierarchy,
                                                   const WatchOptions& options);

}  // namespace memscope
