#include "watch/targets/follow_tree.h"

#include <fmt/format.h>
#include <optional>
#include <set>

#include "sources/proc/descendants.h"

namespace memscope {

Status follow_tree(const SysRoot& root, pid_t pid, const FollowedPids& map) {
    // If the parent of a new process was not in the map yet, the next scan of /proc finds the process. If a tree forks
    // so fast that this many scans are not enough, further scans would not help either.
    constexpr int kMostScans = 100;
    std::set<FoundProcess> seen;
    std::optional<FoundProcess> top;
    std::size_t followed = 0;
    for (int scan = 0; scan < kMostScans; ++scan) {
        const std::vector<FoundProcess> found = read_descendants(root, pid);
        if (found.empty()) break;
        if (!top) top = found.front();
        if (found.front() != *top) break;  // it has ended, and another process has its pid
        bool any_new = false;
        for (const FoundProcess& process : found) {
            if (!seen.insert(process).second) continue;
            any_new = true;
            if (auto added = map.add(process.pid); !added) return added;
            if (still_lives(root, process))
                ++followed;
            else
                map.remove(process.pid);
        }
        if (!any_new) break;
    }
    if (followed == 0) return plain_error(fmt::format("the process with the pid {} has ended", pid));
    return Done{};
}

}  // namespace memscope
