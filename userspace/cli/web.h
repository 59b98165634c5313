#pragma once
#include <variant>

#include "cli/arguments/options.h"
#include "cli/watcher/ask_watcher.h"

namespace memscope {

// Serves the page until a signal ends it.
std::variant<int, AskFailure> serve_page(const SysRoot& root, const WebOptions& options);

}  // namespace memscope
