#include "sources/found_ranges.h"

namespace memscope {
namespace {

bool is_made_by_the_kernel(std::string_view path) {
    return path.starts_with("[") && path != "[heap]" && !path.starts_with("[anon:") &&
           !path.starts_with("[anon_shmem:") && !path.starts_with("[stack:");
}

bool is_shared_memory(std::string_view path) {
    for (const std::string_view start :
         {"/memfd:", "/dev/shm/", "/dev/zero", "/dev/hugepages/", "/anon_hugepage", "[anon_shmem:"})
        if (path.starts_with(start)) return true;
    return false;
}

// Names are those that the kernel gives to files without one; a file of a tmpfs elsewhere looks like any other.
RangeKind kind_of(const MappedRange& range) {
    const std::string_view path = range.path;
    if (path.starts_with("/SYSV")) return RangeKind::attached;
    if (range.shared) return is_shared_memory(path) ? RangeKind::shared : RangeKind::file;
    if (path.empty() || path.starts_with("[") || path.starts_with("/dev/zero") || path.starts_with("/anon_hugepage"))
        return RangeKind::anonymous;
    return RangeKind::file;
}

}  // namespace

std::vector<FoundRange> found_ranges(const ProcessMaps& maps) {
    std::vector<FoundRange> found;
    for (const MappedRange& range : maps.ranges) {
        if (is_made_by_the_kernel(range.path)) continue;
        const RangeKind kind = kind_of(range);
        found.push_back({.range = {range.start, range.end},
                         .kind = kind,
                         .access = {range.readable, range.writable, range.executable},
                         .shared_file = range.shared && kind == RangeKind::file});
    }
    return found;
}

}  // namespace memscope
