#include "outputs/metric_table.h"

namespace memscope {
namespace {

using Labels = std::vector<std::string>;

double number(Bytes bytes) { return static_cast<double>(bytes.n); }

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

constexpr auto kGauge = MetricKind::gauge;

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
