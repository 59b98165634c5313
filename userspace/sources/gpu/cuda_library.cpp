#include "sources/gpu/cuda_library.h"

#include <set>

namespace memscope {
namespace {

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

}  // namespace

std::vector<MappedRange> cuda_mappings(std::string_view maps) { return mappings_named(maps, kCudaFileName); }

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

Result<CudaLibrary> open_cuda_library(const SysRoot& root, pid_t pid, const MappedRange& mapping) {
    auto opened = open_mapped_library(root, pid, mapping);
    if (!opened) return opened.error();
    CudaLibrary library{
        .file = std::move(opened->file), .identity = opened->identity, .places = cuda_places(opened->elf)};
    if (library.places.empty())
        return plain_error(mapping.path + " exports no function of the CUDA driver that memscope follows");
    return library;
}

}  // namespace memscope
