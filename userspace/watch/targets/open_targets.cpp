#include "watch/targets/open_targets.h"

#include "watch/targets/cgroup_targets.h"
#include "watch/targets/process_target.h"

namespace memscope {

Result<std::unique_ptr<TargetSource>> open_targets(const SysRoot& root, const CgroupHierarchy& hierarchy,
                                                   const WatchOptions& options) {
    const auto as_source = [](auto opened) -> Result<std::unique_ptr<TargetSource>> {
        if (!opened) return opened.error();
        return std::unique_ptr<TargetSource>(std::move(*opened));
    };
    if (options.pid) return as_source(ProcessTarget::open(root, hierarchy, *options.pid));
    if (options.own_cgroup) return as_source(CgroupTargets::open_own(hierarchy, *options.own_cgroup, options.shown));
    return as_source(CgroupTargets::open(hierarchy, options.cgroups, options.wait));
}

}  // namespace memscope
