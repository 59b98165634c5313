#include "sources/gpu/host_tensor_library.h"

#include <set>

namespace memscope {
namespace {

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

Result<HostTensorLibrary> open_host_tensor_library(const SysRoot& root, pid_t pid, const MappedRange& mapping) {
    auto opened = open_mapped_library(root, pid, mapping);
    if (!opened) return opened.error();
    auto places = host_tensor_places(opened->elf);
    if (!places)
        return plain_error("host tensors cannot be read from " + mapping.path + ": " + places.error().where,
                           places.error().advice);
    return HostTensorLibrary{.file = std::move(opened->file), .places = std::move(*places)};
}

}  // namespace memscope
