#include "model/nesting.h"

namespace memscope {

void Nesting::remove(CgroupId target) {
    const CgroupId outer = enclosing(target);
    enclosing_.erase(target);
    for (auto& [inner, enclosed_by] : enclosing_)
        if (enclosed_by == target) enclosed_by = outer;
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
