#include "model/memory.h"

namespace memscope {

std::optional<EffectiveLimit> nearest_limit(const std::vector<LimitCandidate>& candidates) {
    std::optional<EffectiveLimit> nearest;
    for (const LimitCandidate& candidate : candidates) {
        const Bytes headroom = candidate.limit - candidate.held;
        if (!nearest || headroom < nearest->headroom)
            nearest = EffectiveLimit{candidate.owner, candidate.limit, headroom};
    }
    return nearest;
}

}  // namespace memscope
