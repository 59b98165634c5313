#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/processes/process.h"

namespace memscope {

// The paths of all targets. They show which target is inside which other target when a target is added. add() visits
// the ancestors of the target and the outermost targets below it, not all targets, because thousands of cgroups can
// match a glob.
class TargetPaths {
  public:
    struct Place {
        CgroupId enclosing = kNoCgroup;  // the nearest target around it
        std::vector<CgroupId> inside{};  // the outermost targets below it, which it encloses now
    };
    // Paths have no slash at their ends; "" is the root, which encloses all others.
    Place add(const std::string& path, CgroupId target);
    void remove(const std::string& path, CgroupId target);

    std::uint64_t lookups() const { return lookups_; }  // in the map, by all calls of add() so far

  private:
    // A path is followed by all paths below it: '/' sorts before every other character ("a", "a/b", "a-b").
    struct BelowFirst {
        using is_transparent = void;
        bool operator()(std::string_view a, std::string_view b) const;
    };
    CgroupId find_enclosing(const std::string& path);
    std::vector<CgroupId> find_inside(const std::string& path);

    std::map<std::string, CgroupId, BelowFirst> targets_{};
    std::uint64_t lookups_ = 0;
};

}  // namespace memscope
