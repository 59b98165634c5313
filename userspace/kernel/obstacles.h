#pragma once
#include <optional>

#include "kernel/plan.h"

namespace memscope {

// Why watching cannot work here, the most helpful reason first; none: it can. Pure, so that every refusal a user
// may meet is tested without a kernel that refuses.
std::optional<Error> obstacle(const KernelFacts& facts, const Privileges& privileges, const Plan& plan);

}  // namespace memscope
