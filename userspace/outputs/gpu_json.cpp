#include "outputs/gpu_json.h"

#include "analysis/gpu_join.h"

namespace memscope {
namespace {

std::optional<std::string> or_null(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

void write_device(JsonWriter& json, const GpuDevice& device, const Snapshot& snapshot, const TargetSnapshot& target) {
    json.field("gpu", device.id);
    json.field("index", std::uint64_t{device.index});
    json.field("name", device.name);
    json.field("pci_bus_id", or_null(device.pci_bus_id));
    json.field("part_of", or_null(device.part_of));
    json.field("used_bytes", device.used);
    json.field("free_bytes", device.free);
    json.field("driver_reserved_bytes", device.reserved);
    json.field("total_bytes", device.total);
    json.field("target_bytes", target.gpu ? held_on(device, snapshot.gpus, *target.gpu) : std::nullopt);
    json.field("others_bytes", others_on(device, snapshot.gpus, target.gpu));
    json.field("utilization_ratio", device.utilization);
    json.field("xid_errors", device.xid_errors);
    json.field("trouble", or_null(device.trouble));
}

// What nobody has booked is left out: it may be nothing, and it may not be followed.
void write_use(JsonWriter& json, const GpuId& id, const GpuUse& use) {
    json.field("gpu", or_null(id));
    json.field("used_bytes", use.used);
    if (use.reserved_total().n > 0)
        json.object("reserved_bytes", [&] {
            for (const GpuApi api : kGpuApis) json.field(name_of(api), use.of(api));
        });
    if (use.tensors) json.field("tensor_bytes", *use.tensors);
    if (const auto cached = use.cached()) json.field("cached_bytes", *cached);
}

void write_role(JsonWriter& json, const RoleKey& key) {
    json.field("role", name_of(key.role));
    json.field("rank", key.rank);
}

void write_pinned(JsonWriter& json, const PinnedUse& pinned) {
    for (const PinnedKind kind : kPinnedKinds) json.field(name_of(kind), pinned.of(kind));
}

void write_target(JsonWriter& json, const TargetGpu& gpu) {
    json.list("roles", [&] {
        for (const auto& [where, use] : gpu.roles)
            json.object([&] {
                write_role(json, where.first);
                write_use(json, where.second, use);
            });
    });
    json.list("processes", [&] {
        for (const auto& [pid, held] : gpu.processes)
            for (const auto& [id, use] : held.devices)
                json.object([&] {
                    json.field("pid", pid);
                    write_use(json, id, use);
                });
    });
    json.list("pinned", [&] {
        for (const auto& [key, pinned] : gpu.pinned)
            json.object([&] {
                write_role(json, key);
                json.object("bytes", [&] { write_pinned(json, pinned); });
            });
    });
    json.list("failures", [&] {
        for (const auto& [where, count] : gpu.failures)
            json.object([&] {
                write_role(json, where.first);
                json.field("gpu", or_null(where.second));
                json.field("count", count);
            });
    });
}

}  // namespace

void write_gpu(JsonWriter& json, const Snapshot& snapshot, const TargetSnapshot& target) {
    if (snapshot.gpus.empty() && !target.gpu) return json.field("gpu", nullptr);
    json.object("gpu", [&] {
        json.list("devices", [&] {
            for (const GpuDevice& device : snapshot.gpus)
                json.object([&] { write_device(json, device, snapshot, target); });
        });
        write_target(json, target.gpu.value_or(TargetGpu{}));
    });
}

}  // namespace memscope
