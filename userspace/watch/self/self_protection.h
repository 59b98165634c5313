#pragma once
#include <string>
#include <vector>

#include "base/files.h"
#include "model/snapshot.h"

namespace memscope {

// The packaged service sets the same oom_score_adj.
inline constexpr int kOwnOomScore = -900;

Result<int> own_oom_score(const SysRoot& root);

// Lowers our oom_score_adj, so that the kernel does not kill memscope when the whole machine runs out of memory. Never
// raises it. Needs CAP_SYS_RESOURCE. Call this after the user's command has been forked, because the command must not
// inherit the score.
Status lower_own_oom_score(const SysRoot& root);

// Raises the soft limit of open files to the hard limit, because every target keeps its directory open. The usual soft
// limit of 1024 is for programs that use select(). Call this after the user's command has been forked, because the
// command must not inherit the limit.
void allow_many_open_files();
// True if so few file descriptors are free that they must be reserved for reading files and for connections. `newest`:
// the descriptor that was opened last. Its number shows how many are in use, because the kernel always returns the
// lowest free number.
bool is_near_open_file_limit(const Fd& newest);

std::string own_cgroup_path(const SysRoot& root);  // below the hierarchy; empty: not known
// The targets that contain a cgroup, by path below the hierarchy. The processes of the cgroup count for these targets,
// and the kernel may kill them at the limits of these targets. The root of the hierarchy is left out, because it
// contains every process.
std::vector<std::string> targets_around(const Snapshot& snapshot, const std::string& cgroup);
std::string inside_warning(const std::string& target);

}  // namespace memscope
