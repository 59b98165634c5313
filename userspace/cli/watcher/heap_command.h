#pragma once
#include <string>
#include <variant>

#include "base/files.h"
#include "cli/arguments/options.h"
#include "cli/watcher/ask_watcher.h"

namespace memscope {

// Asks a running watcher for the heaps of its target. If only a pid is given, reads the heap of this process without a
// watcher. A helper process does that, because the process can block its reader. Returns the output, or the reason why
// there is none.
std::variant<std::string, AskFailure> show_heap(const SysRoot& root, const HeapOptions& options);

}  // namespace memscope
