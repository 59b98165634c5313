#pragma once
#include <string>
#include <variant>

#include "cli/ask_watcher.h"
#include "cli/options.h"

namespace memscope {

// What to print for the answer of a watcher to /api/v1/record: what the watcher itself would print.
std::variant<std::string, AskFailure> show_status(const HttpResponse& answer, bool json);

// Asks the running watchers; what to print, or why there is nothing.
std::variant<std::string, AskFailure> ask_status(const SysRoot& root, const StatusOptions& options);

}  // namespace memscope
