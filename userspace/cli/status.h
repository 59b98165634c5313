#pragma once
#include <string>
#include <variant>

#include "cli/ask_watcher.h"
#include "cli/options.h"

namespace memscope {

// The text to print for the response of a watcher to /api/v1/record. It is the text that the watcher itself would
// print.
std::variant<std::string, AskFailure> show_status(const HttpResponse& answer, bool json);

// Queries the running watchers. Returns the text to print, or the reason why there is none.
std::variant<std::string, AskFailure> ask_status(const SysRoot& root, const StatusOptions& options);

}  // namespace memscope
