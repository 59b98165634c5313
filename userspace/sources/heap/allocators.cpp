#include "sources/heap/allocators.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace memscope {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

bool is_c_library(std::string_view name) { return name.starts_with("libc.so") || name.starts_with("libc-2."); }

template <class Matches>
std::vector<std::string> paths_of(const ProcessMaps& maps, Matches matches) {
    constexpr std::size_t kMostPaths = 16;
    std::vector<std::string> paths;
    for (const MappedRange& range : maps.ranges) {
        if (range.inode == 0 || paths.size() == kMostPaths || !matches(file_name(range.path))) continue;
        if (std::ranges::find(paths, range.path) == paths.end()) paths.push_back(range.path);
    }
    return paths;
}

// The value of LD_PRELOAD, or nothing.
std::string_view preloaded(std::string_view environ) {
    constexpr std::string_view kName = "LD_PRELOAD=";
    for (const std::string_view variable : split(environ, '\0'))
        if (variable.starts_with(kName)) return variable.substr(kName.size());
    return {};
}

}  // namespace

std::vector<std::string> c_library_paths(const ProcessMaps& maps) { return paths_of(maps, is_c_library); }

std::vector<std::string> thread_library_paths(const ProcessMaps& maps) {
    return paths_of(maps, [](std::string_view name) {
        return is_c_library(name) || name.starts_with("ld-") || name.starts_with("ld.so") ||
               name.starts_with("libpthread");
    });
}

AllocatorName allocator_of_library(std::string_view path) {
    constexpr std::pair<std::string_view, AllocatorName> kLibraries[] = {
        {"libjemalloc", AllocatorName::jemalloc},
        {"libtcmalloc", AllocatorName::tcmalloc},
        {"libmimalloc", AllocatorName::mimalloc},
    };
    for (const auto& [name, allocator] : kLibraries)
        if (file_name(path).starts_with(name)) return allocator;
    return AllocatorName::unknown;
}

AllocatorName find_allocator(const ProcessMaps& maps, std::string_view environ, const GlibcMalloc* glibc) {
    const bool glibc_serves = glibc && glibc->was_used();
    const std::string_view preload = preloaded(environ);
    for (const MappedRange& range : maps.ranges) {
        if (range.inode == 0) continue;
        const AllocatorName name = allocator_of_library(range.path);
        if (name == AllocatorName::unknown) continue;
        // LD_PRELOAD may name a link to the file, so the name is compared up to its version.
        const std::string_view file = file_name(range.path);
        const bool was_preloaded = preload.find(file.substr(0, file.find(".so"))) != std::string_view::npos;
        if (was_preloaded || !glibc_serves) return name;
    }
    return glibc_serves ? AllocatorName::glibc : AllocatorName::unknown;
}

}  // namespace memscope
