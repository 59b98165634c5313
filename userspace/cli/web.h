#pragma once
#include <variant>

#include "cli/ask_watcher.h"
#include "cli/options.h"

namespace memscope {

// Serves the page until a signal ends it.
std::variant<int, AskFailure> serve_page(const SysRoot& root, const WebOptions& options);

}  // namespace memscope
