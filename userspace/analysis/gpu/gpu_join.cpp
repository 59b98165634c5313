#include "analysis/gpu/gpu_join.h"

#include <algorithm>
#include <map>
#include <set>

namespace memscope {
namespace {

bool is_there(const std::vector<GpuDevice>& devices, const GpuId& id) {
    return std::ranges::find(devices, id, &GpuDevice::id) != devices.end();
}

bool is_held_by(const GpuDevice& device, pid_t pid) {
    return std::ranges::find(device.holders, pid, &GpuHolder::pid) != device.holders.end();
}

}  // namespace

GpuId device_of(const std::optional<GpuUuid>& uuid, pid_t pid, const std::vector<GpuDevice>& devices) {
    if (uuid) {
        const GpuId id = gpu_id(*uuid);
        // The driver reports the UUID of a MIG device in the same form.
        const GpuId part = "MIG" + id.substr(id.find('-'));
        return !is_there(devices, id) && is_there(devices, part) ? part : id;
    }
    if (devices.size() == 1) return devices.front().id;
    const GpuDevice* only = nullptr;
    for (const GpuDevice& device : devices) {
        if (!is_held_by(device, pid)) continue;
        if (only) return {};
        only = &device;
    }
    return only ? only->id : GpuId{};
}

GpuId device_of(const CudaAccount& account, const std::vector<GpuDevice>& devices) {
    return device_of(account.uuid, account.process.id.pid, devices);
}

namespace {

const Process* find(std::span<const Process> processes, pid_t pid) {
    const auto found = std::ranges::lower_bound(processes, pid, {}, [](const Process& p) { return p.task.id.pid; });
    return found != processes.end() && found->task.id.pid == pid ? &*found : nullptr;
}

}  // namespace

TargetGpu join_gpu(std::span<const GpuDevice> devices, std::uint64_t taken_ns, std::span<const Process> processes) {
    TargetGpu joined;
    for (const GpuDevice& device : devices)
        for (const GpuHolder& holder : device.holders) {
            const Process* process = find(processes, holder.pid);
            if (!process || process->task.id.start_ns > taken_ns) continue;
            joined.processes[holder.pid].devices[device.id].used = holder.used;
        }
    return joined;
}

std::map<pid_t, std::optional<int>> gpu_index_of_holders(std::span<const GpuDevice> devices) {
    std::map<pid_t, std::optional<int>> indices;
    for (const GpuDevice& device : devices)
        for (const GpuHolder& holder : device.holders) {
            const auto own = device.part_of.empty() ? std::optional(static_cast<int>(device.index)) : std::nullopt;
            const auto [found, is_new] = indices.try_emplace(holder.pid, own);
            if (!is_new) found->second.reset();
        }
    return indices;
}

void sum_gpu_by_role(TargetGpu& gpu, std::span<const Process> processes) {
    gpu.roles.clear();
    gpu.pinned.clear();
    for (const auto& [pid, held] : gpu.processes) {
        const Process* process = find(processes, pid);
        if (!process) continue;
        const RoleKey key{process->role, process->rank};
        for (const auto& [id, use] : held.devices) gpu.roles[{key, id}] += use;
        if (held.pinned.total().n > 0) gpu.pinned[key] += held.pinned;
    }
}

void sum_tensors_by_role(TargetGpu& gpu, std::span<const Process> processes) {
    std::set<TargetGpu::RoleDevice> unknown;
    std::map<TargetGpu::RoleDevice, Bytes> sums;
    for (const auto& [pid, held] : gpu.processes) {
        const Process* process = find(processes, pid);
        if (!process) continue;
        const RoleKey key{process->role, process->rank};
        for (const auto& [id, use] : held.devices) {
            if (use.tensors)
                sums[{key, id}] += *use.tensors;
            else if (use.reserved_total().n > 0)
                unknown.insert({key, id});
        }
    }
    for (const auto& [where, sum] : sums)
        if (!unknown.contains(where)) gpu.roles[where].tensors = sum;
}

std::optional<Bytes> held_on(const GpuDevice& device, std::span<const GpuDevice> all, const TargetGpu& gpu) {
    std::optional<Bytes> sum;
    const auto add = [&](const GpuDevice& one) {
        for (const auto& [pid, held] : gpu.processes) {
            const auto use = held.devices.find(one.id);
            if (use == held.devices.end()) continue;
            if (!use->second.used) return false;
            sum = sum.value_or(Bytes{}) + *use->second.used;
        }
        return true;
    };
    if (!add(device)) return std::nullopt;
    for (const GpuDevice& part : all)
        if (part.part_of == device.id && !add(part)) return std::nullopt;
    return sum;
}

std::optional<Bytes> others_on(const GpuDevice& device, std::span<const GpuDevice> all,
                               const std::optional<TargetGpu>& gpu) {
    if (!device.used || !device.knows_holders) return std::nullopt;
    const auto is_here = [&](const auto& held) {
        return std::ranges::any_of(all, [&](const GpuDevice& one) {
            return (one.id == device.id || one.part_of == device.id) && held.second.devices.contains(one.id);
        });
    };
    if (!gpu || std::ranges::none_of(gpu->processes, is_here)) return device.used;
    const auto ours = held_on(device, all, *gpu);
    return ours ? std::optional(*device.used - *ours) : std::nullopt;
}

}  // namespace memscope
