#include "model/memory.h"

#include <algorithm>
#include <utility>

namespace memscope {

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
    // Of its own limit all is its own. Swap is in what is held where the limit counts it.
    const Bytes held = memory.effective->held();
    return memory.effective->owner == "own" ? held : std::min(held, memory.unreclaimable + memory.swap);
}

}  // namespace memscope
