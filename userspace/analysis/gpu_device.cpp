#include "analysis/gpu_device.h"

#include <algorithm>

namespace memscope {
namespace {

bool is_there(const std::vector<GpuDevice>& devices, const GpuId& id) {
    return std::ranges::find(devices, id, &GpuDevice::id) != devices.end();
}

bool is_held_by(const GpuDevice& device, pid_t pid) {
    return std::ranges::find(device.holders, pid, &GpuHolder::pid) != device.holders.end();
}

}  // namespace

GpuId device_of(const std::optional<GpuUuid>& told, pid_t pid, const std::vector<GpuDevice>& devices) {
    if (told) {
        const GpuId id = gpu_id(*told);
        const GpuId part = "MIG" + id.substr(id.find('-'));  // the driver tells the number of a part in the same way
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

GpuId device_of(const GpuAccount& account, const std::vector<GpuDevice>& devices) {
    return device_of(account.uuid, account.process.id.pid, devices);
}

}  // namespace memscope
