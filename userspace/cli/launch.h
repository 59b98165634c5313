#pragma once
#include "base/files.h"
#include "watch/loop.h"

namespace memscope {

// `memscope [options] -- CMD`: in a fresh cgroup, watched from its first instruction. The exit status is CMD's own.
std::variant<int, WatchFailure> launch(const SysRoot& root, WatchOptions options);

}  // namespace memscope
