#pragma once
#include <string>
#include <variant>

#include "cli/arguments/options.h"
#include "cli/watcher/ask_watcher.h"

namespace memscope {

// The text to print for the response of a watcher to /api/v1/record. The watcher itself would print the same text.
std::variant<std::string, AskFailure> show_status(const HttpResponse& answer, bool json);

// Queries the running watchers. Returns the text to print, or the reason why there is none.
std::variant<std::string, AskFailure> ask_status(const SysRoot& root, const StatusOptions& options);

}  // namespace memscope
