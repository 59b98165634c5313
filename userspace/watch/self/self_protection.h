#pragma once
#include <string>
#include <vector>

#include "base/files.h"
#include "model/snapshot.h"

namespace memscope {

// What the packaged service has, too.
inline constexpr int kOwnOomScore = -900;

Result<int> own_oom_score(const SysRoot& root);

// The observer must not be the victim when the whole machine runs out of memory. Only lowers it, which takes
// CAP_SYS_RESOURCE; to be called after a command of the user's has been forked, which must not inherit it.
Status lower_own_oom_score(const SysRoot& root);

// Raises the soft limit to the hard one, because every target keeps its directory open; the usual soft limit of 1024 is
// for programs that use select(). To be called after a command of the user's has been forked, which must not inherit
// it.
void allow_many_open_files();
// Whether so few descriptors are left beyond this one, which was opened last, that they are needed for reading files
// and for connections. The kernel always gives the lowest free number.
bool is_near_open_file_limit(const Fd& newest);

std::string own_cgroup_path(const SysRoot& root);  // below the hierarchy; empty: not known
// The targets around a cgroup, by path below the hierarchy: what is in it counts there, and may be killed there. The
// root of the hierarchy, where everybody is, is none.
std::vector<std::string> targets_around(const Snapshot& snapshot, const std::string& cgroup);
std::string inside_warning(const std::string& target);

}  // namespace memscope
