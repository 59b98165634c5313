#pragma once
#include <string>
#include <variant>

#include "cli/ask_watcher.h"
#include "cli/options.h"

namespace memscope {

// Asks the running watchers; what to print, or why there is nothing.
std::variant<std::string, AskFailure> ask_status(const SysRoot& root, const StatusOptions& options);

}  // namespace memscope
