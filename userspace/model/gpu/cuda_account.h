#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <variant>

#include "base/units.h"
#include "model/gpu/gpu.h"
#include "model/growth/stack.h"
#include "model/processes/process.h"

namespace memscope {

// Memory that one process holds on one device, from its calls of the CUDA driver.
struct CudaAccount {
    ProcessInstance process{};
    int device = -1;                // number of the device in the process; -1: not known
    std::optional<GpuUuid> uuid{};  // as the driver reported it to the process
    std::uint64_t generation = 0;   // rises when the last context ends and all memory is freed at once
    std::array<Bytes, std::size(kCudaApis)> reserved{};
    PinnedUse pinned{};
    std::uint64_t allocations = 0;  // live allocations
    std::uint64_t failures = 0;     // allocations that failed because memory was short, in total
    Bytes lost{};                   // allocations that were not recorded because a map was full, in total
    bool living = true;             // false: the process has exited or called exec
};

// The part of an account that was allocated at one stack.
struct CudaSite {
    ProcessInstance process{};
    int device = -1;
    std::uint64_t generation = 0;
    StackId stack = kNoStack;
    std::variant<CudaApi, PinnedKind> kind{};
    std::int64_t bytes = 0;
};

}  // namespace memscope
