#pragma once
#include <map>
#include <set>
#include <vector>

#include "model/processes/process.h"

namespace memscope {

// Knows which target is inside which other target. The kernel names only the innermost target of a process; this class
// finds the enclosing targets.
class Nesting {
  public:
    void add(CgroupId target, CgroupId enclosing);  // moves the target if it is already known
    void remove(CgroupId target);                   // targets inside it are then inside its enclosing target

    bool has(CgroupId target) const { return enclosing_.contains(target); }
    CgroupId enclosing(CgroupId target) const;
    std::vector<CgroupId> around(CgroupId innermost) const;  // innermost first; empty for kNoCgroup

  private:
    void take_out(CgroupId inner, CgroupId outer);

    std::map<CgroupId, CgroupId> enclosing_;
    std::map<CgroupId, std::set<CgroupId>> inside_;  // the reverse map, so that remove() need not visit all targets
};

}  // namespace memscope
