#pragma once
#include "base/files.h"
#include "watch/watch.h"

namespace memscope {

// `memscope [options] -- CMD`: runs CMD in a new cgroup and watches it from its first instruction. Returns the exit
// status of CMD.
std::variant<int, WatchFailure> launch(const SysRoot& root, WatchOptions options);

}  // namespace memscope
