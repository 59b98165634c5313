#pragma once
#include <optional>
#include <variant>

#include "base/files.h"
#include "base/result.h"
#include "watch/watch_options.h"

namespace memscope {

class OwnCommand;

struct WatchFailure {
    Error error{};
    bool at_start = false;             // watching could not begin
    std::optional<int> exit_status{};  // of a command that could not be started
};
// Watches until no target is left, the duration is over or a signal arrives. Returns the exit status, or the error that
// ended watching. With a command: starts it once the watcher is ready, passes signals on to it, and returns its exit
// status.
std::variant<int, WatchFailure> watch(const SysRoot& root, const WatchOptions& options, OwnCommand* command = nullptr);

}  // namespace memscope
