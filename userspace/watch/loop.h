#pragma once
#include "base/files.h"
#include "base/result.h"
#include "watch/watch_options.h"

namespace memscope {

// Watches until the targets are gone, the duration is over or a signal says so. The exit status, or an error that
// kept it from starting (`cannot`) or ended it.
struct WatchFailure {
    Error error{};
    bool at_start = false;
};
std::variant<int, WatchFailure> watch(const SysRoot& root, const WatchOptions& options);

}  // namespace memscope
