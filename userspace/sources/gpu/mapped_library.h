#pragma once
#include <string_view>
#include <vector>

#include "base/files.h"
#include "sources/elf/elf_file.h"
#include "sources/proc/mapped_file.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// The files of a process whose names begin so and that are mapped to be run, each once, and not very many. Anybody can
// name a file so.
std::vector<MappedRange> mappings_named(std::string_view maps, std::string_view name);

struct MappedLibrary {
    Fd file{};
    FileIdentity identity{};
    ElfFile elf;
};
// The file behind a mapping. An error where it is not there any more, or no ELF file.
Result<MappedLibrary> open_mapped_library(const SysRoot& root, pid_t pid, const MappedRange& mapping);

// Where a byte that is loaded at an address stands in the file; none: it is not loaded, or not to be run, or only so.
std::optional<std::uint64_t> offset_in(std::span<const ElfSegment> segments, std::uint64_t address, bool executable);

}  // namespace memscope
