#include "model/processes/nesting.h"

#include <utility>

namespace memscope {

void Nesting::take_out(CgroupId inner, CgroupId outer) {
    const auto found = inside_.find(outer);
    if (found == inside_.end()) return;
    found->second.erase(inner);
    if (found->second.empty()) inside_.erase(found);
}

void Nesting::add(CgroupId target, CgroupId enclosing) {
    const auto [known, is_new] = enclosing_.try_emplace(target, enclosing);
    if (!is_new) take_out(target, std::exchange(known->second, enclosing));
    if (enclosing != kNoCgroup) inside_[enclosing].insert(target);
}

void Nesting::remove(CgroupId target) {
    const auto known = enclosing_.find(target);
    if (known == enclosing_.end()) return;
    const CgroupId outer = known->second;
    enclosing_.erase(known);
    take_out(target, outer);
    const auto inner = inside_.extract(target);
    if (inner.empty()) return;
    for (const CgroupId each : inner.mapped()) {
        enclosing_[each] = outer;
        if (outer != kNoCgroup) inside_[outer].insert(each);
    }
}

CgroupId Nesting::enclosing(CgroupId target) const {
    const auto found = enclosing_.find(target);
    return found == enclosing_.end() ? kNoCgroup : found->second;
}

std::vector<CgroupId> Nesting::around(CgroupId innermost) const {
    std::vector<CgroupId> targets;
    for (CgroupId at = innermost; has(at); at = enclosing(at)) targets.push_back(at);
    return targets;
}

}  // namespace memscope
