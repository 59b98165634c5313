#pragma once
#include <string_view>
#include <vector>

#include "base/files.h"
#include "sources/elf/elf_file.h"
#include "sources/proc/mapped_file.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// The executable mappings of a process whose file name begins with `name`, one per file, up to a limit. Other files can
// have such a name, too, so the caller checks the file.
std::vector<MappedRange> mappings_named(std::string_view maps, std::string_view name);

struct MappedLibrary {
    Fd file{};
    FileIdentity identity{};
    ElfFile elf;
};
// Opens the file of a mapping. An error if it does not exist any more or is not an ELF file.
Result<MappedLibrary> open_mapped_library(const SysRoot& root, pid_t pid, const MappedRange& mapping);

}  // namespace memscope
