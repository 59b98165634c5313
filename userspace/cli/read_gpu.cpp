#include "cli/read_gpu.h"

#include "base/text.h"
#include "cli/read_tick.h"

namespace memscope {
namespace {

constexpr std::size_t kMost = 1000;  // elements of a list: more than any report has

GpuDevice read_device(const JsonFields& fields) {
    GpuDevice device{.id = fields.text("gpu"),
                     .index = static_cast<unsigned>(std::max(0, fields.small("index").value_or(0))),
                     .name = fields.text("name"),
                     .pci_bus_id = fields.text("pci_bus_id"),
                     .used = fields.bytes("used_bytes"),
                     .free = fields.bytes("free_bytes"),
                     .reserved = fields.bytes("driver_reserved_bytes"),
                     .total = fields.bytes("total_bytes"),
                     .utilization = fields.number("utilization_ratio"),
                     .knows_holders = fields.has("others_bytes"),
                     .part_of = fields.text("part_of"),
                     .trouble = printable(fields.text("trouble"))};
    if (fields.has("xid_errors")) device.xid_errors = fields.count("xid_errors");
    return device;
}

GpuUse read_use(const JsonFields& fields) {
    GpuUse use{.used = fields.bytes("used_bytes"), .tensors = fields.bytes("tensor_bytes")};
    const JsonFields reserved = fields.object("reserved_bytes");
    for (const GpuApi api : kGpuApis)
        use.reserved[static_cast<std::size_t>(api)] =
            reserved.bytes(std::string(name_of(api)).c_str()).value_or(Bytes{});
    return use;
}

PinnedUse read_pinned(const JsonFields& fields) {
    PinnedUse pinned;
    for (const PinnedKind kind : kPinnedKinds)
        pinned.by_kind[static_cast<std::size_t>(kind)] =
            fields.bytes(std::string(name_of(kind)).c_str()).value_or(Bytes{});
    return pinned;
}

}  // namespace

void read_gpu(const JsonFields& gpu, Snapshot& snapshot, TargetSnapshot& target) {
    gpu.each("devices", kMost, [&](const JsonFields& each) { snapshot.gpus.push_back(read_device(each)); });
    target.gpu.emplace();
    gpu.each("processes", kMost, [&](const JsonFields& each) {
        target.gpu->processes[each.small("pid").value_or(0)].devices[each.text("gpu")] = read_use(each);
    });
    gpu.each("roles", kMost,
             [&](const JsonFields& each) { target.gpu->roles[{read_role(each), each.text("gpu")}] = read_use(each); });
    gpu.each("pinned", kMost,
             [&](const JsonFields& each) { target.gpu->pinned[read_role(each)] = read_pinned(each.object("bytes")); });
    gpu.each("failures", kMost, [&](const JsonFields& each) {
        target.gpu->failures[{read_role(each), each.text("gpu")}] = each.count("count");
    });
}

}  // namespace memscope
