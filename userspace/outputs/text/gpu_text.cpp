#include "outputs/text/gpu_text.h"

#include <algorithm>
#include <fmt/format.h>

#include "analysis/gpu/gpu_join.h"
#include "base/text.h"

namespace memscope {
namespace {

void add(std::optional<Bytes>& sum, const GpuUse& use) {
    if (use.used || use.reserved_total().n > 0) sum = sum.value_or(Bytes{}) + use.used.value_or(use.reserved_total());
}

// Known only if it is known of every process that has reserved memory on the device.
std::optional<Bytes> cached_on(const GpuId& device, const TargetGpu& gpu) {
    std::optional<Bytes> sum;
    for (const auto& [pid, held] : gpu.processes) {
        const auto use = held.devices.find(device);
        if (use == held.devices.end() || use->second.reserved_total().n == 0) continue;
        const auto cached = use->second.cached();
        if (!cached) return std::nullopt;
        sum = sum.value_or(Bytes{}) + *cached;
    }
    return sum;
}

}  // namespace

double GpuLine::full() const {
    if (!used || !total || total->n == 0) return 0;
    return std::min(1.0, static_cast<double>(used->n) / static_cast<double>(total->n));
}

std::vector<GpuLine> gpu_lines(const Snapshot& snapshot, const TargetSnapshot& target) {
    std::vector<GpuLine> lines;
    std::size_t part = 0;  // number of a MIG device on its GPU, from 1
    for (const GpuDevice& device : snapshot.gpus) {
        part = device.part_of.empty() ? 0 : part + 1;
        lines.push_back({.name = device.part_of.empty() ? fmt::format("GPU {}", device.index)
                                                        : fmt::format("MIG {}.{}", device.index, part - 1),
                         .model = printable(device.name),
                         .total = device.total,
                         .held = target.gpu ? held_on(device, snapshot.gpus, *target.gpu) : std::nullopt,
                         .cached = target.gpu ? cached_on(device.id, *target.gpu) : std::nullopt,
                         .others = others_on(device, snapshot.gpus, target.gpu),
                         .used = device.used,
                         .utilization = device.utilization,
                         .xid_errors = device.xid_errors.value_or(0),
                         .trouble = printable(device.trouble)});
    }
    return lines;
}

std::string gpu_facts(const GpuLine& gpu) {
    if (!gpu.trouble.empty()) return gpu.trouble;
    std::string text;
    const auto append = [&](const std::string& fact) { text += (text.empty() ? "" : ", ") + fact; };
    const std::string cached = gpu.cached ? " (" + human_size(*gpu.cached) + " cached or fragmented)" : "";
    if (gpu.held) append("target " + human_size(*gpu.held) + cached);
    if (gpu.others && gpu.others->n > 0) append("others " + human_size(*gpu.others));
    if (gpu.utilization) append(fmt::format("{:.0f} % busy", 100 * *gpu.utilization));
    if (gpu.xid_errors > 0) append(fmt::format("{} Xid error{}", gpu.xid_errors, gpu.xid_errors == 1 ? "" : "s"));
    return text;
}

std::optional<Bytes> gpu_memory_of(const TargetSnapshot& target, const RoleKey& role) {
    std::optional<Bytes> sum;
    if (!target.gpu) return sum;
    for (const auto& [where, use] : target.gpu->roles)
        if (where.first == role) add(sum, use);
    return sum;
}

std::optional<Bytes> gpu_memory_of(const TargetSnapshot& target, pid_t pid) {
    std::optional<Bytes> sum;
    if (!target.gpu) return sum;
    const auto held = target.gpu->processes.find(pid);
    if (held == target.gpu->processes.end()) return sum;
    for (const auto& [id, use] : held->second.devices) add(sum, use);
    return sum;
}

}  // namespace memscope
