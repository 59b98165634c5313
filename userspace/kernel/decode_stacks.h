#pragma once
#include <cstddef>
#include <span>

#include "base/result.h"
#include "model/stack.h"
#include <memscope/shared/stacks.h>

namespace memscope {

// Records of the ring of stacks. Counts that a record claims are checked against what it can hold.
Result<RawStack> decode_stack(std::span<const std::byte> record);
Result<ms_code> decode_code(std::span<const std::byte> record);  // its texts are terminated

}  // namespace memscope
