#pragma once
#include <map>
#include <vector>

#include "model/process.h"

namespace memscope {

// Which target lies inside which. The kernel names only the innermost one around a process; the others follow.
class Nesting {
  public:
    void add(CgroupId target, CgroupId enclosing) { enclosing_[target] = enclosing; }
    void remove(CgroupId target);  // what lay inside it now lies inside what enclosed it

    bool has(CgroupId target) const { return enclosing_.contains(target); }
    CgroupId enclosing(CgroupId target) const;
    std::vector<CgroupId> around(CgroupId innermost) const;  // innermost first; empty for kNoCgroup

  private:
    std::map<CgroupId, CgroupId> enclosing_;
};

}  // namespace memscope
