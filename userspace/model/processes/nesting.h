#pragma once
#include <map>
#include <set>
#include <vector>

#include "model/processes/process.h"

namespace memscope {

// Which target lies inside which. The kernel names only the innermost one around a process; the others follow.
class Nesting {
  public:
    void add(CgroupId target, CgroupId enclosing);  // or moves it, where it is known already
    void remove(CgroupId target);                   // what lay inside it now lies inside what enclosed it

    bool has(CgroupId target) const { return enclosing_.contains(target); }
    CgroupId enclosing(CgroupId target) const;
    std::vector<CgroupId> around(CgroupId innermost) const;  // innermost first; empty for kNoCgroup

  private:
    void take_out(CgroupId inner, CgroupId outer);

    std::map<CgroupId, CgroupId> enclosing_;
    std::map<CgroupId, std::set<CgroupId>>
        inside_;  // the reverse of it, so that a removal does not look at all targets
};

}  // namespace memscope
