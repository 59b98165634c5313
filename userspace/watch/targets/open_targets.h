#pragma once
#include <memory>

#include "base/files.h"
#include "sources/cgroup/cgroup_hierarchy.h"
#include "watch/targets/target.h"
#include "watch/watch_options.h"

namespace memscope {

// What is to be watched: the cgroups that were named, the tree of a process, or a cgroup of our own making.
Result<std::unique_ptr<Targets>> open_targets(const SysRoot& root, const CgroupHierarchy& hierarchy,
                                              const WatchOptions& options);

}  // namespace memscope
