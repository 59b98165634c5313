#pragma once
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/files.h"
#include "model/snapshot.h"

namespace memscope {

// What the packaged service has, too.
inline constexpr int kOwnOomScore = -900;

// The observer must not be the victim when the whole machine runs out of memory. Only lowers it, which takes
// CAP_SYS_RESOURCE; to be called after a command of the user's has been forked, which must not inherit it.
Status lower_own_oom_score(const SysRoot& root);

// The targets that this process is part of: it counts there, and may be killed there.
std::vector<std::string> targets_with(const Snapshot& snapshot, pid_t pid);
std::string inside_warning(const std::string& target);

}  // namespace memscope
