#include "sources/cuda_library.h"

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>
#include <tuple>

#include "base/text.h"

namespace memscope {
namespace {

constexpr std::string_view kName = "libcuda.so";
constexpr std::size_t kMostFiles = 8;  // of one process

struct CudaSymbol {
    std::string_view name;
    ms_cuda_call call;
};
// The runtime takes pointers to these very exports. `_ptsz`: of threads that have a default stream each.
constexpr CudaSymbol kSymbols[] = {
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

bool is_named_like_it(std::string_view path) { return path.substr(path.rfind('/') + 1).starts_with(kName); }

std::optional<std::uint64_t> offset_of(const ElfFile& file, const ElfSymbol& symbol) {
    for (const ElfSegment& segment : file.segments())
        if (segment.executable && symbol.value >= segment.address && symbol.value - segment.address < segment.file_size)
            return segment.offset + (symbol.value - segment.address);
    return std::nullopt;
}

// As the process has it: below its own root, then below ours, then by its addresses, which takes more privileges.
Result<Fd> find_file(const SysRoot& root, pid_t pid, const MappedRange& mapping) {
    Error last = plain_error("find " + mapping.path);
    for (const std::string& process : {std::to_string(pid), std::string("self")}) {
        if (mapping.deleted) break;
        const auto its_root = root_of(root, process);
        if (!its_root) continue;
        auto found = find_below(*its_root, mapping.path, Lookup::may_wait);
        const auto identity = found ? identity_of(*found) : std::nullopt;
        if (identity && identity->inode == mapping.inode) return found;
        if (!found) last = found.error();
    }
    const fs::path by_address =
        root.proc / std::to_string(pid) / fmt::format("map_files/{:x}-{:x}", mapping.start, mapping.end);
    const int fd = ::open(by_address.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) return last;
    return Fd(fd);
}

}  // namespace

std::vector<MappedRange> cuda_mappings(std::string_view maps) {
    std::string lines;  // a process can have thousands of mappings: only those that matter are looked at closely
    for_each_line(maps, [&](std::string_view line) {
        if (line.find(kName) != std::string_view::npos) lines.append(line) += '\n';
    });
    std::vector<MappedRange> found;
    std::set<std::tuple<unsigned, unsigned, std::uint64_t>> seen;
    for (const MappedRange& range : parse_process_maps(lines).ranges) {
        if (range.inode == 0 || !range.executable || !is_named_like_it(range.path)) continue;
        if (!seen.insert({range.dev_major, range.dev_minor, range.inode}).second) continue;
        found.push_back(range);
        if (found.size() == kMostFiles) break;
    }
    return found;
}

Result<std::vector<MappedRange>> read_cuda_mappings(const SysRoot& root, pid_t pid) {
    const auto text = read_file(root.proc / std::to_string(pid) / "maps", kMapsTextLimit);
    if (!text) return text.error();
    return cuda_mappings(*text);
}

std::vector<CudaPlace> cuda_places(const ElfFile& file) {
    std::vector<std::string_view> names;
    for (const CudaSymbol& symbol : kSymbols) names.push_back(symbol.name);
    const auto symbols = file.find_symbols(names);
    std::vector<CudaPlace> places;
    std::set<std::uint64_t> taken;  // one function may have several names
    for (std::size_t i = 0; i < symbols.size(); ++i) {
        const auto offset = symbols[i] ? offset_of(file, *symbols[i]) : std::nullopt;
        if (offset && taken.insert(*offset).second) places.push_back({kSymbols[i].call, *offset});
    }
    return places;
}

Result<CudaLibrary> open_cuda_library(const SysRoot& root, pid_t pid, const MappedRange& mapping) {
    const auto found = find_file(root, pid, mapping);
    if (!found) return found.error();
    const auto identity = identity_of(*found);
    if (!identity) return plain_error(mapping.path + " is not a regular file");
    auto file = open_found(*found);
    if (!file) return file.error();
    const auto elf = ElfFile::open(*file);
    if (!elf) return elf.error();
    CudaLibrary library{.file = std::move(*file), .identity = *identity, .places = cuda_places(*elf)};
    if (library.places.empty()) return plain_error(mapping.path + " exports no call of the CUDA driver");
    return library;
}

}  // namespace memscope
