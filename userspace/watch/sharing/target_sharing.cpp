#include "watch/sharing/target_sharing.h"

#include "analysis/roles/role_totals.h"

namespace memscope {

void TargetSharing::describe(const SharingTick& tick, TargetSnapshot& out) {
    if (tick.compares || !latest_) latest_ = compare(tick, out);
    out.sharing = *latest_;
    // In every tick, because a worker that was just forked must not be shown with all the memory of its parent.
    own_.fill(tick.scan_ns, out.processes, *tick.readings,
              [this](const ProcessId& process) { return unsharing_.copied_since_read(process); });
    MemoryState& memory = out.memory;
    if (!memory.measured_at.empty()) memory.others = memory.usage - sum_own_anon(out.processes);
}

Sharing TargetSharing::compare(const SharingTick& tick, const TargetSnapshot& target) {
    const MemoryState& memory = target.memory;
    // An ancestor cgroup also contains other processes, which grow independently of the target.
    const bool alone = memory.measured_at.empty();
    const auto cgroup_anon = alone ? std::optional(memory.by_kind.anon) : std::nullopt;
    Sharing sharing = unsharing_.take({.time_ns = tick.compared_scan_ns,
                                       .processes = target.processes,
                                       .cgroup_anon = cgroup_anon,
                                       .usage = memory.usage},
                                      *tick.readings);
    sharing.pss = sum_pss(target.processes, *tick.readings, cgroup_anon, tick.compared_ns);
    return sharing;
}

}  // namespace memscope
