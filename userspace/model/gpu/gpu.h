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

// A device by its UUID ("GPU-...", "MIG-..."). Empty: memory is held on one, but nobody can tell on which.
using GpuId = std::string;

// CONTRACT: how a process has reserved memory of a device.
enum class GpuApi { alloc, vmm, pool, managed };
inline constexpr GpuApi kGpuApis[] = {GpuApi::alloc, GpuApi::vmm, GpuApi::pool, GpuApi::managed};
std::string_view name_of(GpuApi api);

// CONTRACT: how host memory came to be pinned.
enum class PinnedKind { allocated, registered };
inline constexpr PinnedKind kPinnedKinds[] = {PinnedKind::allocated, PinnedKind::registered};
std::string_view name_of(PinnedKind kind);  // "alloc", "register"

// A process that has a context on a device, whosever it is.
struct GpuHolder {
    pid_t pid = 0;
    std::optional<Bytes> used{};  // none: the driver does not say
};

// A device as its driver's management library tells of it. What the library cannot tell is absent.
struct GpuDevice {
    GpuId id{};
    unsigned index = 0;
    std::string name{};
    std::string pci_bus_id{};
    std::optional<Bytes> used{};
    std::optional<Bytes> free{};  // what processes can still get; total - used also contains `reserved`
    // Memory that the driver and the firmware keep for themselves. Not in `used`. None: this driver counts it in
    // `used`.
    std::optional<Bytes> reserved{};
    std::optional<Bytes> total{};
    std::optional<double> utilization{};        // 0 to 1
    std::optional<std::uint64_t> xid_errors{};  // since we watch
    std::vector<GpuHolder> holders{};           // by pid; those of a part are in the part alone
    bool knows_holders = false;                 // else nobody can tell, which is not the same as nobody
    GpuId part_of{};                            // of a MIG device: the GPU it is cut out of
    std::string trouble{};                      // why values are absent that were there before
};

// What one process, or one role, holds on one device.
struct GpuUse {
    std::optional<Bytes> used{};                        // by NVML; contexts included
    std::array<Bytes, std::size(kGpuApis)> reserved{};  // by the calls of the driver
    std::optional<Bytes> tensors{};                     // by PyTorch's own probes

    Bytes of(GpuApi api) const { return reserved[static_cast<std::size_t>(api)]; }
    Bytes reserved_total() const;
    // Reserved, but in no tensor: cached, fragmented, or taken by libraries beside PyTorch. None: not known.
    std::optional<Bytes> cached() const;
    GpuUse& operator+=(const GpuUse& other);  // sums what either knows
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

    std::map<pid_t, ProcessGpu> processes{};  // those that hold any
    std::map<RoleDevice, GpuUse> roles{};
    std::map<RoleKey, PinnedUse> pinned{};
    std::map<RoleDevice, std::uint64_t> failures{};  // CUDA out of memory: a counter, lives on across processes
};

}  // namespace memscope
