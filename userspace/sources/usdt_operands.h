#pragma once
#include <string_view>
#include <vector>

#include "base/result.h"
#include <memscope/shared/torch.h>

namespace memscope {

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
