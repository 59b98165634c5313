#include "watch/targets/open_targets.h"

#include "watch/targets/cgroup_targets.h"
#include "watch/targets/process_target.h"

namespace memscope {

Result<std::unique_ptr<Targets>> open_targets(const SysRoot& root, const CgroupHierarchy& hierarchy,
                                              const WatchOptions& options) {
    const auto as_targets = [](auto opened) -> Result<std::unique_ptr<Targets>> {
        if (!opened) return opened.error();
        return std::unique_ptr<Targets>(std::move(*opened));
    };
    if (options.pid) return as_targets(ProcessTarget::open(root, hierarchy, *options.pid));
    if (options.own_cgroup) return as_targets(CgroupTargets::open_own(hierarchy, *options.own_cgroup, options.shown));
    return as_targets(CgroupTargets::open(hierarchy, options.cgroups, options.wait));
}

}  // namespace memscope
