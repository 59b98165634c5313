#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sources/elf_file.h"

namespace memscope {

// A probe that a program has of its own: an instruction that does nothing, and a note that tells where it stands and
// what is in which register there ("USDT", as SystemTap's <sys/sdt.h> writes them).
struct UsdtProbe {
    std::string name{};
    std::string arguments{};      // "-8@%rbx -4@12(%rsp)"
    std::uint64_t offset = 0;     // of the instruction, in the file
    std::uint64_t semaphore = 0;  // not zero while somebody watches; its offset in the file; 0: it has none
    bool operator==(const UsdtProbe&) const = default;
};

// All of one provider, in the order of the notes. An error where the notes are damaged, or point out of the file: with
// some of its probes a program would tell half of a story.
Result<std::vector<UsdtProbe>> read_usdt_probes(const ElfFile& file, std::string_view provider);

}  // namespace memscope
