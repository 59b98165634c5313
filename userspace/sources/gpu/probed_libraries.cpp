#include "sources/gpu/probed_libraries.h"

#include <set>
#include <tuple>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::size_t kMostFiles = 8;  // limit for one process

bool is_named(std::string_view path, std::string_view name) {
    return path.substr(path.rfind('/') + 1).starts_with(name);
}

struct CudaSymbol {
    std::string_view name;
    ms_cuda_call call;
};
// The CUDA runtime takes pointers to these exports. `_ptsz`: variants for per-thread default streams.
constexpr CudaSymbol kCudaSymbols[] = {
    {"cuMemAlloc_v2", MS_CUDA_ALLOC},
    {"cuMemAllocPitch_v2", MS_CUDA_ALLOC_PITCH},
    {"cuMemAllocManaged", MS_CUDA_ALLOC_MANAGED},
    {"cuMemAllocAsync", MS_CUDA_ALLOC_ASYNC},
    {"cuMemAllocAsync_ptsz", MS_CUDA_ALLOC_ASYNC},
    {"cuMemAllocFromPoolAsync", MS_CUDA_ALLOC_ASYNC},
    {"cuMemAllocFromPoolAsync_ptsz", MS_CUDA_ALLOC_ASYNC},
    {"cuMemFree_v2", MS_CUDA_FREE},
    {"cuMemFreeAsync", MS_CUDA_FREE},
    {"cuMemFreeAsync_ptsz", MS_CUDA_FREE},
    {"cuMemCreate", MS_CUDA_CREATE},
    {"cuMemRelease", MS_CUDA_RELEASE},
    {"cuMemRetainAllocationHandle", MS_CUDA_RETAIN},
    {"cuMemImportFromShareableHandle", MS_CUDA_RETAIN},
    {"cuMemMap", MS_CUDA_MAP},
    {"cuMemUnmap", MS_CUDA_UNMAP},
    {"cuMemHostAlloc", MS_CUDA_HOST_ALLOC},
    {"cuMemAllocHost_v2", MS_CUDA_HOST_ALLOC},
    {"cuMemFreeHost", MS_CUDA_HOST_FREE},
    {"cuMemHostRegister_v2", MS_CUDA_HOST_REGISTER},
    {"cuMemHostUnregister", MS_CUDA_HOST_UNREGISTER},
    {"cuDevicePrimaryCtxRetain", MS_CUDA_PRIMARY_RETAIN},
    {"cuDevicePrimaryCtxRelease_v2", MS_CUDA_PRIMARY_RELEASE},
    {"cuDevicePrimaryCtxReset_v2", MS_CUDA_PRIMARY_RESET},
    {"cuCtxCreate_v2", MS_CUDA_CREATE_CONTEXT},
    {"cuCtxCreate_v3", MS_CUDA_CREATE_CONTEXT_3},
    {"cuCtxCreate_v4", MS_CUDA_CREATE_CONTEXT_4},
    {"cuCtxDestroy_v2", MS_CUDA_DESTROY_CONTEXT},
    {"cuCtxSetCurrent", MS_CUDA_SET_CONTEXT},
    {"cuCtxPushCurrent_v2", MS_CUDA_PUSH_CONTEXT},
    {"cuCtxPopCurrent_v2", MS_CUDA_POP_CONTEXT},
    {"cuDeviceGetUuid", MS_CUDA_GET_UUID},
    {"cuDeviceGetUuid_v2", MS_CUDA_GET_UUID},
};

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

struct HostTensorSymbol {
    std::string_view name;
    ms_host_tensor_call call;
};
// Member functions of c10::ProfiledCPUMemoryReporter.
constexpr HostTensorSymbol kHostTensorSymbols[] = {
    {"_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm", MS_HOST_NEW},
    {"_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv", MS_HOST_DELETE},
    {"_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm", MS_HOST_OUT_OF_MEMORY},
};

}  // namespace

std::vector<MappedRange> mappings_named(std::string_view maps, std::string_view name) {
    std::string lines;  // a process can have thousands of mappings, so only the relevant lines are parsed
    for_each_line(maps, [&](std::string_view line) {
        if (line.find(name) != std::string_view::npos) lines.append(line) += '\n';
    });
    std::vector<MappedRange> found;
    std::set<std::tuple<unsigned, unsigned, std::uint64_t>> seen;
    for (const MappedRange& range : parse_process_maps(lines).ranges) {
        if (range.inode == 0 || !range.executable || !is_named(range.path, name)) continue;
        if (!seen.insert({range.dev_major, range.dev_minor, range.inode}).second) continue;
        found.push_back(range);
        if (found.size() == kMostFiles) break;
    }
    return found;
}

Result<MappedLibrary> open_mapped_library(const SysRoot& root, pid_t pid, const MappedRange& mapping) {
    const auto found = find_mapped_file(root, pid, mapping, InodeCheck::always);
    if (!found) return found.error();
    const auto identity = identity_of(*found);
    if (!identity) return plain_error(mapping.path + " is not a regular file");
    auto file = open_found(*found);
    if (!file) return file.error();
    auto elf = ElfFile::open(*file);
    if (!elf) return elf.error();
    return MappedLibrary{.file = std::move(*file), .identity = *identity, .elf = std::move(*elf)};
}

std::vector<CudaPlace> cuda_places(const ElfFile& file) {
    std::vector<std::string_view> names;
    for (const CudaSymbol& symbol : kCudaSymbols) names.push_back(symbol.name);
    const auto symbols = file.find_exports(names);
    std::vector<CudaPlace> places;
    std::set<std::uint64_t> taken;  // one function may have several names
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const auto offset = symbols[i] ? offset_in(file.segments(), symbols[i]->value, true) : std::nullopt;
        if (offset && taken.insert(*offset).second) places.push_back({kCudaSymbols[i].call, *offset});
    }
    return places;
}

Result<ProbedLibrary<CudaPlace>> open_cuda_library(const SysRoot& root, pid_t pid, const MappedRange& mapping) {
    auto opened = open_mapped_library(root, pid, mapping);
    if (!opened) return opened.error();
    auto places = cuda_places(opened->elf);
    if (places.empty())
        return plain_error(mapping.path + " exports no function of the CUDA driver that memscope follows");
    return ProbedLibrary<CudaPlace>{.file = std::move(opened->file), .places = std::move(places)};
}

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

Result<ProbedLibrary<GpuTensorPlace>> open_gpu_tensor_library(const SysRoot& root, pid_t pid,
                                                              const MappedRange& mapping) {
    auto opened = open_mapped_library(root, pid, mapping);
    if (!opened) return opened.error();
    auto places = gpu_tensor_places(opened->elf);
    if (!places)
        return plain_error("tensor bytes cannot be read from " + mapping.path + ": " + places.error().where,
                           places.error().advice);
    return ProbedLibrary<GpuTensorPlace>{.file = std::move(opened->file), .places = std::move(*places)};
}

Result<std::vector<HostTensorPlace>> host_tensor_places(const ElfFile& file) {
    std::vector<std::string_view> names;
    for (const HostTensorSymbol& symbol : kHostTensorSymbols) names.push_back(symbol.name);
    const auto symbols = file.find_exports(names);
    std::vector<HostTensorPlace> places;
    std::set<std::uint64_t> offsets;
    std::set<ms_host_tensor_call> calls;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const auto offset = symbols[i] ? offset_in(file.segments(), symbols[i]->value, true) : std::nullopt;
        if (!offset) continue;
        if (!offsets.insert(*offset).second) return plain_error("two of its functions are at the same address");
        places.push_back({kHostTensorSymbols[i].call, *offset});
        calls.insert(kHostTensorSymbols[i].call);
    }
    if (!calls.contains(MS_HOST_NEW) || !calls.contains(MS_HOST_DELETE))
        return plain_error("it does not export the functions that report its storages", "PyTorch has them since 1.6");
    return places;
}

Result<ProbedLibrary<HostTensorPlace>> open_host_tensor_library(const SysRoot& root, pid_t pid,
                                                                const MappedRange& mapping) {
    auto opened = open_mapped_library(root, pid, mapping);
    if (!opened) return opened.error();
    auto places = host_tensor_places(opened->elf);
    if (!places)
        return plain_error("host tensors cannot be read from " + mapping.path + ": " + places.error().where,
                           places.error().advice);
    return ProbedLibrary<HostTensorPlace>{.file = std::move(opened->file), .places = std::move(*places)};
}

}  // namespace memscope
