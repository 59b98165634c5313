#pragma once
#include <string_view>

#include "base/files.h"
#include "model/sharing.h"

namespace memscope {

// None if one of the lines that every kernel since 5.3 writes is missing or not a number.
std::optional<PageSharing> parse_smaps_rollup(std::string_view text);

// The kernel walks all page tables of the process and holds its mmap_lock meanwhile, which blocks the process from
// mapping memory: tens of milliseconds per GiB. `process` is its directory in /proc. ESRCH if the process has exited or
// has released its memory.
Result<PageSharing> read_smaps_rollup(const Fd& process);

}  // namespace memscope
