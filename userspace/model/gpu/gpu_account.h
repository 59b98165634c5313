#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/units.h"
#include "model/gpu/gpu.h"
#include "model/growth/stack.h"
#include "model/processes/process.h"

namespace memscope {

using GpuUuid = std::array<std::uint8_t, 16>;
GpuId gpu_id(const GpuUuid& uuid);  // "GPU-..."

// A process that calls the CUDA driver. After an exec it has a new instance.
struct CudaProcess {
    ProcessId id{};
    std::uint64_t instance = 0;
    auto operator<=>(const CudaProcess&) const = default;
};

// Memory that one process holds on one device, from its calls.
struct GpuAccount {
    CudaProcess process{};
    int device = -1;                // number of the device in the process; -1: not known
    std::optional<GpuUuid> uuid{};  // as the driver reported it to the process
    std::uint64_t generation = 0;   // rises when the last context ends and all memory is freed at once
    std::array<Bytes, std::size(kGpuApis)> reserved{};
    PinnedUse pinned{};
    std::uint64_t allocations = 0;  // live allocations
    std::uint64_t failures = 0;     // allocations that failed because memory was short, in total
    Bytes lost{};                   // allocations that were not recorded because a map was full, in total
    bool living = true;             // false: the process has exited or called exec
};

// The part of an account that was allocated at one stack.
struct GpuSite {
    CudaProcess process{};
    int device = -1;
    std::uint64_t generation = 0;
    StackId stack = kNoStack;
    std::variant<GpuApi, PinnedKind> kind{};
    std::int64_t bytes = 0;
};

// Memory in the tensors of one process, from PyTorch's static probes.
struct TensorAccount {
    struct Device {
        int number = -1;  // number of the device in the process; -1: not known
        Bytes bytes{};
    };
    CudaProcess process{};
    std::vector<Device> devices{};  // devices that have had a tensor
    std::uint64_t tensors = 0;
    bool missed_some = false;  // the sums are not reliable
};

}  // namespace memscope
