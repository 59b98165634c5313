#include "outputs/metrics/metric_table.h"

namespace memscope {
namespace {

// Devices are the machine's, so they have no target.
void info(const Snapshot& snapshot, Samples& out) {
    for (const GpuDevice& gpu : snapshot.gpus)
        out.add({gpu.id, std::to_string(gpu.index), gpu.name, gpu.pci_bus_id}, 1);
}

double number(Bytes bytes) { return static_cast<double>(bytes.n); }
double number(double value) { return value; }
double number(std::uint64_t count) { return static_cast<double>(count); }

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

constexpr auto kGauge = MetricKind::gauge;

constexpr Metric kGpuMetrics[] = {
    {"memscope_gpu_info",
     kGauge,
     "1 for each GPU and each MIG device; what it is stands in the labels.",
     {"gpu", "index", "name", "pci_bus_id"},
     info},
    {"memscope_gpu_memory_used_bytes",
     kGauge,
     "Memory of a device that is in use, whosever it is. Absent while the driver does not answer.",
     {"gpu"},
     value<&GpuDevice::used>},
    {"memscope_gpu_memory_total_bytes", kGauge, "Memory of a device.", {"gpu"}, value<&GpuDevice::total>},
    {"memscope_gpu_utilization_ratio",
     kGauge,
     "Part of the last moments in which a kernel ran on the device, 0 to 1. A MIG device has none.",
     {"gpu"},
     value<&GpuDevice::utilization>},
    {"memscope_gpu_xid_errors_total",
     MetricKind::counter,
     "Critical errors (Xid) of a GPU since memscope watches.",
     {"gpu"},
     value<&GpuDevice::xid_errors>},
    {"memscope_gpu_process_memory_bytes",
     kGauge,
     "Memory of a device that a role's processes hold by the word of the driver, their contexts included.",
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
void each_target(const Snapshot& snapshot, Read read) {
    const auto labels = target_labels(snapshot);
    for (std::size_t i = 0; i < labels.size(); ++i)
        if (const auto& gpu = snapshot.targets[i].gpu) read(labels[i], *gpu);
}

// Every way of a device that the role has memory of, so that one that is given up for another does not leave a gap.
void reserved(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const std::string& target, const TargetGpu& gpu) {
        for (const auto& [where, use] : gpu.roles) {
            if (use.reserved_total().n == 0) continue;
            for (const GpuApi api : kGpuApis)
                out.add(with(target, where.first, {where.second, name_of(api)}), number(use.of(api)));
        }
    });
}

void tensors(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const std::string& target, const TargetGpu& gpu) {
        for (const auto& [where, use] : gpu.roles)
            if (use.tensors) out.add(with(target, where.first, {where.second}), number(*use.tensors));
    });
}

void pinned(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const std::string& target, const TargetGpu& gpu) {
        for (const auto& [role, use] : gpu.pinned)
            for (const PinnedKind kind : kPinnedKinds)
                out.add(with(target, role, {name_of(kind)}), number(use.of(kind)));
    });
}

void failures(const Snapshot& snapshot, Samples& out) {
    each_target(snapshot, [&](const std::string& target, const TargetGpu& gpu) {
        for (const auto& [where, count] : gpu.failures)
            out.add(with(target, where.first, {where.second}), static_cast<double>(count));
    });
}

constexpr Metric kGpuCallMetrics[] = {
    {"memscope_gpu_reserved_bytes",
     kGauge,
     "Memory of a device that a role's processes have taken by calls of the CUDA driver and not given back: what a "
     "caching allocator keeps is part of it. An empty gpu: nobody can tell which.",
     {"target", "role", "rank", "gpu", "api"},
     reserved},
    {"memscope_gpu_tensor_bytes",
     kGauge,
     "Memory of a device that PyTorch has handed out to tensors, by its own probes (--torch). The rest of what is "
     "reserved is cached or fragmented. Absent where some of a role's tensors were not seen: of processes that were "
     "there before.",
     {"target", "role", "rank", "gpu"},
     tensors},
    {"memscope_pinned_host_bytes",
     kGauge,
     "Host memory that a role's processes have pinned through the CUDA driver: allocated so, or registered later.",
     {"target", "role", "rank", "kind"},
     pinned},
    {"memscope_gpu_alloc_failures_total",
     MetricKind::counter,
     "Allocations that the CUDA driver refused for want of memory. Many programs free what they can and try again.",
     {"target", "role", "rank", "gpu"},
     failures},
};

}  // namespace

std::span<const Metric> gpu_call_metrics() { return kGpuCallMetrics; }

}  // namespace memscope
