#include "model/reclaim.h"

namespace memscope {

void StallLedger::book(CgroupId target, const ReclaimStalls& counted, const Nesting& nesting) {
    ReclaimStalls& before = counted_[target];
    for (const CgroupId outer : nesting.around(target)) {
        ReclaimStalls& sum = sums_[outer];
        sum.memcg += counted.memcg - before.memcg;
        sum.direct += counted.direct - before.direct;
        sum.stalls += counted.stalls - before.stalls;
    }
    before = counted;
}

void StallLedger::forget(CgroupId target) {
    counted_.erase(target);
    sums_.erase(target);
}

ReclaimStalls StallLedger::of(CgroupId target) const {
    const auto found = sums_.find(target);
    return found == sums_.end() ? ReclaimStalls{} : found->second;
}

}  // namespace memscope
