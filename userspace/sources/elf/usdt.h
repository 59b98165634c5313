#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sources/elf/elf_file.h"
#include <memscope/shared/gpu_tensors.h>

namespace memscope {

// A USDT probe (user statically defined tracing, as SystemTap's <sys/sdt.h> writes it): a no-op instruction in a
// program, and a note with its address and the registers that hold its arguments.
struct UsdtProbe {
    std::string name{};
    std::string arguments{};   // "-8@%rbx -4@12(%rsp)"
    std::uint64_t offset = 0;  // file offset of the instruction
    // File offset of a counter that is not 0 while a tracer is attached; 0: the probe has none.
    std::uint64_t semaphore = 0;
    bool operator==(const UsdtProbe&) const = default;
};

// All probes of one provider, in the order of the notes. An error if the notes are damaged or point outside the file,
// because an incomplete set of probes would give wrong sums.
Result<std::vector<UsdtProbe>> read_usdt_probes(const ElfFile& file, std::string_view provider);

enum class Machine { x86_64, aarch64 };
#if defined(__x86_64__)
inline constexpr Machine kThisMachine = Machine::x86_64;
#elif defined(__aarch64__)
inline constexpr Machine kThisMachine = Machine::aarch64;
#else
#error "memscope knows x86_64 and aarch64"
#endif

// The first `count` arguments of a probe, in the syntax of the assembler: "-8@%rbx -1@15(%rsp) 8@$4096" on x86,
// "-8@x19 -1@[sp, 15] 8@4096" on aarch64. Accepts registers, memory at a register, and constants. Any other operand is
// an error, never a guess.
Result<std::vector<ms_operand>> parse_operands(std::string_view text, std::size_t count, Machine machine);

}  // namespace memscope
