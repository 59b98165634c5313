#pragma once
#include "base/files.h"
#include "base/result.h"
#include "watch/watch_options.h"

namespace memscope {

// Watches until the targets are gone, the duration is over or a signal says so. The exit status, or an error that
// kept it from starting (`cannot`) or ended it.
class OwnCommand;

struct WatchFailure {
    Error error{};
    bool at_start = false;
    std::optional<int> exit_status{};  // if it is none of the usual ones
};
// With a command: starts it once the watcher is ready, passes signals on to it, and ends with its exit status.
std::variant<int, WatchFailure> watch(const SysRoot& root, const WatchOptions& options, OwnCommand* command = nullptr);

}  // namespace memscope
