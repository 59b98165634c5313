#include "outputs/text/target_kind.h"

#include <fmt/format.h>

#include "base/text.h"

namespace memscope {

std::string target_kind_text(const TargetInfo& target) {
    if (target.pid) return fmt::format("pid {}, cgroup v{}", *target.pid, target.cgroup_version);
    return fmt::format("{} v{}", printable(target.kind), target.cgroup_version);
}

}  // namespace memscope
