#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace {

// Devices belong to the machine, so this metric has no label `target`.
void info(const Snapshot& snapshot, Samples& out) {
    for (const GpuDevice& gpu : snapshot.gpus)
        out.add({gpu.id, std::to_string(gpu.index), gpu.name, gpu.pci_bus_id}, 1);
}

template <auto member>
void value(const Snapshot& snapshot, Samples& out) {
    for (const GpuDevice& gpu : snapshot.gpus)
        if (gpu.*member) out.add({gpu.id}, number(*(gpu.*member)));
}

void process_memory(const Snapshot& snapshot, Samples& out) {
    const auto labels = target_labels(snapshot);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto& gpu = snapshot.targets[i].gpu;
        if (!gpu) continue;
        for (const auto& [where, use] : gpu->roles) {
            const auto& [role, id] = where;
            if (use.used)
                out.add({labels[i], std::string(name_of(role.role)), role.rank ? std::to_string(*role.rank) : "", id},
                        number(*use.used));
        }
    }
}

constexpr Metric kGpuMetrics[] = {
    {"memscope_gpu_info",
     kGauge,
     "1 for each GPU and each MIG device; the labels describe the device.",
     {"gpu", "index", "name", "pci_bus_id"},
     info},
    {"memscope_gpu_memory_used_bytes",
     kGauge,
     "Memory of a device that is in use by any process. Absent while the driver does not answer.",
     {"gpu"},
     value<&GpuDevice::used>},
    {"memscope_gpu_memory_total_bytes", kGauge, "Memory of a device.", {"gpu"}, value<&GpuDevice::total>},
    {"memscope_gpu_utilization_ratio",
     kGauge,
     "Part of the driver's last sampling period in which a kernel ran on the device, 0 to 1. A MIG device has none.",
     {"gpu"},
     value<&GpuDevice::utilization>},
    {"memscope_gpu_xid_errors_total",
     MetricKind::counter,
     "Critical errors (Xid) of a GPU since memscope started to watch.",
     {"gpu"},
     value<&GpuDevice::xid_errors>},
    {"memscope_gpu_process_memory_bytes",
     kGauge,
     "Memory of a device that the processes of a role hold according to the driver, CUDA contexts included.",
     {"target", "role", "rank", "gpu"},
     process_memory},
};

}  // namespace

std::span<const Metric> gpu_metrics() { return kGpuMetrics; }

namespace {

using Labels = std::vector<std::string>;

Labels with(const std::string& target, const RoleKey& role, std::initializer_list<std::string_view> more) {
    Labels labels{target, std::string(name_of(role.role)), role.rank ? std::to_string(*role.rank) : ""};
    labels.insert(labels.end(), more.begin(), more.end());
    return labels;
}

template <class Read>
void each_target_with_gpu(const Snapshot& snapshot, Read read) {
    const auto labels = target_labels(snapshot);
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (const auto& gpu = snapshot.targets[i].gpu) read(labels[i], *gpu);
}

// All API labels of each device on which the role has memory. A series of an API that is no longer used becomes 0
// instead of leaving a gap.
void reserved(const Snapshot& snapshot, Samples& out) {
    each_target_with_gpu(snapshot, [&](const std::string& target, const TargetGpu& gpu) {
        for (const auto& [where, use] : gpu.roles) {
            if (use.reserved_total().n == 0) continue;
            for (const CudaApi api : kCudaApis)
                out.add(with(target, where.first, {where.second, name_of(api)}), number(use.of(api)));
        }
    });
}

void tensors(const Snapshot& snapshot, Samples& out) {
    each_target_with_gpu(snapshot, [&](const std::string& target, const TargetGpu& gpu) {
        for (const auto& [where, use] : gpu.roles)
            if (use.tensors) out.add(with(target, where.first, {where.second}), number(*use.tensors));
    });
}

void pinned(const Snapshot& snapshot, Samples& out) {
    each_target_with_gpu(snapshot, [&](const std::string& target, const TargetGpu& gpu) {
        for (const auto& [role, use] : gpu.pinned)
            for (const PinnedKind kind : kPinnedKinds)
                out.add(with(target, role, {name_of(kind)}), number(use.of(kind)));
    });
}

void failed_gpu_calls(const Snapshot& snapshot, Samples& out) {
    each_target_with_gpu(snapshot, [&](const std::string& target, const TargetGpu& gpu) {
        for (const auto& [where, count] : gpu.failures)
            out.add(with(target, where.first, {where.second}), static_cast<double>(count));
    });
}

constexpr Metric kGpuCallMetrics[] = {
    {"memscope_gpu_reserved_bytes",
     kGauge,
     "Memory of a device that the processes of a role have allocated by calls of the CUDA driver and not freed, the "
     "cache of a caching allocator included. An empty gpu label: the device is not known.",
     {"target", "role", "rank", "gpu", "api"},
     reserved},
    {"memscope_gpu_tensor_bytes",
     kGauge,
     "Memory of a device that PyTorch has allocated to tensors, by the probes of --torch. The rest of the reserved "
     "memory is cached or fragmented. Absent if a process of the role is older than the probes, because its earlier "
     "tensors are not known.",
     {"target", "role", "rank", "gpu"},
     tensors},
    {"memscope_pinned_host_bytes",
     kGauge,
     "Host memory that the processes of a role have pinned through the CUDA driver: allocated as pinned memory, or "
     "registered later.",
     {"target", "role", "rank", "kind"},
     pinned},
    {"memscope_gpu_alloc_failures_total",
     MetricKind::counter,
     "Allocations that the CUDA driver refused because memory was short. Many programs then free memory and try again.",
     {"target", "role", "rank", "gpu"},
     failed_gpu_calls},
};

}  // namespace

std::span<const Metric> gpu_call_metrics() { return kGpuCallMetrics; }

}  // namespace memscope
