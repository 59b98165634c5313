#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sources/elf/elf_file.h"
#include <memscope/shared/torch.h>

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

enum class Machine { x86_64, aarch64 };
#if defined(__x86_64__)
inline constexpr Machine kThisMachine = Machine::x86_64;
#elif defined(__aarch64__)
inline constexpr Machine kThisMachine = Machine::aarch64;
#else
#error "memscope knows x86_64 and aarch64"
#endif

// The first `count` arguments of a probe, as the assembler has written them: "-8@%rbx -1@15(%rsp) 8@$4096" on x86,
// "-8@x19 -1@[sp, 15] 8@4096" on aarch64. Registers, memory at a register, constants; what else an assembler can write
// is an error, never a guess.
Result<std::vector<ms_operand>> parse_operands(std::string_view text, std::size_t count, Machine machine);

}  // namespace memscope
