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

// One program that calls the CUDA driver: a process that executes another one is another.
struct CudaProcess {
    ProcessId id{};
    std::uint64_t instance = 0;
    auto operator<=>(const CudaProcess&) const = default;
};

// What one of them holds on one device, by the calls it made.
struct GpuAccount {
    CudaProcess process{};
    int device = -1;                // as the process counts them; -1: not known
    std::optional<GpuUuid> uuid{};  // as the process was told
    std::uint64_t generation = 0;   // rises when all of it goes at once, with its contexts
    std::array<Bytes, std::size(kGpuApis)> reserved{};
    PinnedUse pinned{};
    std::uint64_t allocations = 0;  // that live
    std::uint64_t failures = 0;     // for want of memory, ever
    Bytes lost{};                   // of allocations that found no room in the books, ever
    bool living = true;             // false: the process has ended, or executed another program
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

// What PyTorch has handed out to tensors of one process, by its own probes.
struct TensorAccount {
    struct Device {
        int number = -1;  // as the process counts them; -1: not known
        Bytes bytes{};
    };
    CudaProcess process{};
    std::vector<Device> devices{};  // that it ever had a tensor on
    std::uint64_t tensors = 0;
    bool missed_some = false;  // the sums are not to be relied on
};

}  // namespace memscope
