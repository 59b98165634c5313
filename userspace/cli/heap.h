#pragma once
#include <string>
#include <variant>

#include "base/files.h"
#include "cli/ask_watcher.h"
#include "cli/options.h"

namespace memscope {

// Asks a running watcher for the heaps of its target. If only a pid is given, reads the heap of this process without a
// watcher, in a helper process, because the process can block its reader. Returns the output, or the reason why there
// is none.
std::variant<std::string, AskFailure> show_heap(const SysRoot& root, const HeapOptions& options);

}  // namespace memscope
