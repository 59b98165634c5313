#include "watch/follow_tree.h"

#include <set>

#include "sources/descendants.h"
#include "watch/process_target.h"

namespace memscope {

// From the moment a process is in the map its children are followed by birth. Those it has already are looked up until
// a pass finds no new one: a child of a process that was not in the map yet is found by the next pass.
Status follow_tree(Session& session, const SysRoot& root, pid_t pid) {
    constexpr int kMostPasses = 100;  // a tree that forks faster than /proc is read is caught up with by then, or never
    std::set<pid_t> followed;
    for (int pass = 0; pass < kMostPasses; ++pass) {
        bool any_new = false;
        for (const pid_t member : read_descendants(root, pid)) {
            if (!followed.insert(member).second) continue;
            any_new = true;
            if (auto added = session.follow(member, ProcessTarget::kTree); !added) return added;
        }
        if (!any_new) break;
    }
    return Done{};
}

}  // namespace memscope
