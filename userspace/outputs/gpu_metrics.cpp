#include "outputs/metric_table.h"

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

}  // namespace memscope
