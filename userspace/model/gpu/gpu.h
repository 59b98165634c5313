#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "model/processes/process.h"

namespace memscope {

// A device by its UUID ("GPU-...", "MIG-..."). Empty: the device is not known.
using GpuId = std::string;

using GpuUuid = std::array<std::uint8_t, 16>;
GpuId gpu_id(const GpuUuid& uuid);  // "GPU-..."

// The API of the CUDA driver by which a process has reserved memory of a device. Metrics and JSON export the names.
enum class CudaApi { alloc, vmm, pool, managed };
inline constexpr CudaApi kCudaApis[] = {CudaApi::alloc, CudaApi::vmm, CudaApi::pool, CudaApi::managed};
std::string_view name_of(CudaApi api);

// How host memory was pinned. Metrics and JSON export the names.
enum class PinnedKind { allocated, registered };
inline constexpr PinnedKind kPinnedKinds[] = {PinnedKind::allocated, PinnedKind::registered};
std::string_view name_of(PinnedKind kind);  // "alloc", "register"

// A process that has a context on a device, watched or not.
struct GpuHolder {
    pid_t pid = 0;
    std::optional<Bytes> used{};  // none: the driver does not report it
};

// A device as NVML, the management library of the driver, reports it. Values that the library does not have are absent.
struct GpuDevice {
    GpuId id{};
    unsigned index = 0;
    std::string name{};
    std::string pci_bus_id{};
    std::optional<Bytes> used{};
    std::optional<Bytes> free{};  // memory that processes can still get; total - used also contains `reserved`
    // Memory that the driver and the firmware keep for themselves. Not in `used`. None: this driver counts it in
    // `used`.
    std::optional<Bytes> reserved{};
    std::optional<Bytes> total{};
    std::optional<double> utilization{};        // 0 to 1
    std::optional<std::uint64_t> xid_errors{};  // since watching began
    std::vector<GpuHolder> holders{};           // by pid; the GPU of a MIG device does not list its holders
    bool knows_holders = false;                 // false: an empty list means "not known", not "none"
    GpuId part_of{};                            // of a MIG device: its GPU
    std::string trouble{};                      // why values are absent that were present before
};

// Memory that one process or one role holds on one device.
struct GpuUse {
    std::optional<Bytes> used{};                         // from NVML; contexts included
    std::array<Bytes, std::size(kCudaApis)> reserved{};  // from calls of the CUDA driver
    std::optional<Bytes> tensors{};                      // from PyTorch's static probes

    Bytes of(CudaApi api) const { return reserved[static_cast<std::size_t>(api)]; }
    Bytes reserved_total() const;
    // Reserved, but in no tensor: cached, fragmented, or held by libraries other than PyTorch. None: not known.
    std::optional<Bytes> cached() const;
    GpuUse& operator+=(const GpuUse& other);  // a value that is absent on one side counts as 0 there
};

struct PinnedUse {
    std::array<Bytes, std::size(kPinnedKinds)> by_kind{};

    Bytes of(PinnedKind kind) const { return by_kind[static_cast<std::size_t>(kind)]; }
    Bytes total() const;
    PinnedUse& operator+=(const PinnedUse& other);
};

struct ProcessGpu {
    std::map<GpuId, GpuUse> devices{};
    PinnedUse pinned{};
};

// The GPU memory of a target.
struct TargetGpu {
    using RoleDevice = std::pair<RoleKey, GpuId>;

    std::map<pid_t, ProcessGpu> processes{};  // only processes that hold GPU memory
    std::map<RoleDevice, GpuUse> roles{};
    std::map<RoleKey, PinnedUse> pinned{};
    std::map<RoleDevice, std::uint64_t> failures{};  // CUDA out of memory: a counter that never falls
};

}  // namespace memscope
