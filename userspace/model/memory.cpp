#include "model/memory.h"

#include <algorithm>
#include <utility>

namespace memscope {

bool is_numa_owner(const std::string& owner) {
    return owner.starts_with("numa node ") || owner.starts_with("numa nodes ");
}

EffectiveLimit as_limit(const LimitCandidate& candidate) {
    return {candidate.owner, candidate.limit, candidate.limit - candidate.held};
}

std::optional<EffectiveLimit> nearest_limit(const std::vector<LimitCandidate>& candidates) {
    std::optional<EffectiveLimit> nearest;
    for (const LimitCandidate& candidate : candidates) {
        EffectiveLimit limit = as_limit(candidate);
        if (!nearest || limit.headroom < nearest->headroom) nearest = std::move(limit);
    }
    return nearest;
}

Bytes held_by_target(const MemoryState& memory) {
    if (!memory.effective) return {};
    const Bytes held = memory.effective->held();
    if (memory.effective->owner == "own") return held;
    // A process tree is measured at a cgroup that also contains other processes.
    if (memory.others) return std::min(held, memory.usage - *memory.others);
    // `held` contains swap if the limit counts swap.
    return std::min(held, memory.held());
}

}  // namespace memscope
