#include "sources/gpu/gpu_tensor_library.h"

#include <set>

#include "sources/elf/usdt.h"

namespace memscope {
namespace {

constexpr std::string_view kProvider = "pytorch";
constexpr std::size_t kMostPlaces = 16;  // PyTorch builds have three

// A device is passed as its index (an int, or a char since 2.3), or as two bytes: a type, then the index.
ms_operand index_of_device(ms_operand device) {
    if (device.bytes != 2) return device;
    device.skipped_bits = 8;
    device.is_signed = 1;
    if (device.kind == MS_OPERAND_CONSTANT) device.number = device.number >> 8 & 0xFF;
    return device;
}

Result<ms_gpu_tensor_site> site_of(const UsdtProbe& probe, Machine machine) {
    const bool is_malloc = probe.name == "malloc";  // pointer, device, size, stream
    const auto operands = parse_operands(probe.arguments, is_malloc ? 3 : 1, machine);
    if (!operands) return operands.error();
    ms_gpu_tensor_site site{};
    site.event = is_malloc ? MS_GPU_TENSOR_MALLOC : MS_GPU_TENSOR_FREE;
    site.pointer = (*operands)[0];
    if (is_malloc) {
        site.device = index_of_device((*operands)[1]);
        site.size = (*operands)[2];
    }
    return site;
}

}  // namespace

Result<std::vector<GpuTensorPlace>> gpu_tensor_places(const ElfFile& file, Machine machine) {
    const auto probes = read_usdt_probes(file, kProvider);
    if (!probes) return probes.error();
    std::vector<GpuTensorPlace> places;
    std::set<std::uint64_t> taken;
    std::set<std::uint32_t> events;
    for (const UsdtProbe& probe : *probes) {
        if ((probe.name != "malloc" && probe.name != "free") || !taken.insert(probe.offset).second) continue;
        const auto site = site_of(probe, machine);
        if (!site) return site.error();
        events.insert(site->event);
        places.push_back({.offset = probe.offset, .semaphore = probe.semaphore, .site = *site});
        if (places.size() > kMostPlaces) return plain_error("it has too many probes of tensors");
    }
    if (events.size() < 2)
        return plain_error("it has no probes of tensors", "PyTorch's release wheels for x86_64 have them");
    return places;
}

Result<GpuTensorLibrary> open_gpu_tensor_library(const SysRoot& root, pid_t pid, const MappedRange& mapping) {
    auto opened = open_mapped_library(root, pid, mapping);
    if (!opened) return opened.error();
    auto places = gpu_tensor_places(opened->elf);
    if (!places)
        return plain_error("tensor bytes cannot be read from " + mapping.path + ": " + places.error().where,
                           places.error().advice);
    return GpuTensorLibrary{.file = std::move(opened->file), .places = std::move(*places)};
}

}  // namespace memscope
