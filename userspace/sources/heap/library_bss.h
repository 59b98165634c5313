#pragma once
#include <string_view>
#include <sys/types.h>

#include "base/files.h"
#include "sources/proc/process_maps.h"

namespace memscope {

constexpr std::string_view kBss = "[bss]";  // path of the .bss of a library

// The .bss of a library ends with an anonymous mapping right behind its data. The kernel merges it with an anonymous
// mapping that the process makes behind it, such as an arena of pymalloc. Splits such a mapping at the end of .bss,
// which the program headers of the file give, and names the part that belongs to the library.
ProcessMaps name_bss(ProcessMaps maps, const SysRoot& root, pid_t pid);

}  // namespace memscope
