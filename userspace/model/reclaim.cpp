#include "model/reclaim.h"

#include <utility>

namespace memscope {

ReclaimStalls StallCounter::rise(const ReclaimStalls& counted) {
    const ReclaimStalls before = std::exchange(counted_, counted);
    return {.memcg = counted.memcg - before.memcg,
            .direct = counted.direct - before.direct,
            .stalls = counted.stalls - before.stalls};
}

void StallCounter::add(const ReclaimStalls& rise) {
    sum_.memcg += rise.memcg;
    sum_.direct += rise.direct;
    sum_.stalls += rise.stalls;
}

}  // namespace memscope
