#include "watch/growth/growth_ledger.h"

namespace memscope {

std::int64_t EndedGrowth::at_stacks() const {
    std::int64_t bytes = unknown_resident;
    for (const auto* sites : {&resident, &mapped, &tensors_host})
        for (const SiteGrowth& each : *sites) bytes += each.bytes;
    return bytes;
}

void EndedProcesses::keep(const ProcessId& process, EndedGrowth growth) {
    if (const auto known = kept_.find(process); known != kept_.end()) {
        by_size_.erase({known->second.at_stacks(), process});
        kept_.erase(known);
    }
    by_size_.emplace(growth.at_stacks(), process);
    kept_.emplace(process, std::move(growth));
    if (kept_.size() <= kMost) return;
    kept_.erase(by_size_.begin()->second);
    by_size_.erase(by_size_.begin());
}

void EndedProcesses::forget_before(Seconds time) {
    std::erase_if(kept_, [&](const auto& each) {
        if (each.second.at >= time) return false;
        by_size_.erase({each.second.at_stacks(), each.first});
        return true;
    });
}

const EndedGrowth* EndedProcesses::find(const ProcessId& process) const {
    const auto found = kept_.find(process);
    return found == kept_.end() ? nullptr : &found->second;
}

}  // namespace memscope
