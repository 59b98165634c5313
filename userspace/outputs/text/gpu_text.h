#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace memscope {

// The figures of a device for one line. Absent means not known.
struct GpuLine {
    std::string name{};  // "GPU 0", "MIG 0.1"
    std::string model{};
    std::optional<Bytes> total{};
    std::optional<Bytes> held{};    // by the target
    std::optional<Bytes> cached{};  // part of `held` that PyTorch keeps without a tensor in it
    std::optional<Bytes> others{};  // in use by other processes
    std::optional<Bytes> used{};
    std::optional<double> utilization{};
    std::uint64_t xid_errors = 0;
    std::string trouble{};

    double full() const;  // 0 to 1
};
std::vector<GpuLine> gpu_lines(const Snapshot& snapshot, const TargetSnapshot& target);

// "target 31 GiB (4 GiB cached or fragmented), others 8 GiB, 97 % busy, 2 Xid errors"
std::string gpu_facts(const GpuLine& gpu);

// Memory that a role or a process holds on all devices according to the driver, or else to its calls. Nullopt: unknown.
std::optional<Bytes> gpu_memory_of(const TargetSnapshot& target, const RoleKey& role);
std::optional<Bytes> gpu_memory_of(const TargetSnapshot& target, pid_t pid);

}  // namespace memscope
