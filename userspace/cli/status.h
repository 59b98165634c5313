#pragma once
#include <string>
#include <variant>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "cli/options.h"

namespace memscope {

struct StatusFailure {
    Error error{};
    int exit_status = 1;
};

// A target and the socket of a watcher that watches it.
struct WatchedTarget {
    std::string name{};
    fs::path socket{};
};

// Asks the running watchers; what to print, or why there is nothing.
std::variant<std::string, StatusFailure> ask_status(const SysRoot& root, const StatusOptions& options);

// Which one is meant: the one named, or the only one there is.
std::variant<WatchedTarget, StatusFailure> choose_target(const std::vector<WatchedTarget>& targets,
                                                         const std::optional<std::string>& wanted);

}  // namespace memscope
