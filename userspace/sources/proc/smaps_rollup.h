#pragma once
#include <string_view>

#include "base/files.h"
#include "model/sharing.h"

namespace memscope {

// Nothing where one of the lines that every kernel since 5.3 writes is missing or no number.
std::optional<PageSharing> parse_smaps_rollup(std::string_view text);

// Walks all page tables of the process and holds its mmap_lock meanwhile, which stops it from mapping memory: 1 GiB
// takes tens of milliseconds. `process` is its directory. ESRCH when it is gone or has given its memory up.
Result<PageSharing> read_smaps_rollup(const Fd& process);

}  // namespace memscope
