#include "sources/heap/library_bss.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

#include "sources/gpu/probed_libraries.h"
#include "sources/heap/heap_range.h"
#include "sources/heap/present_memory.h"

namespace memscope {
namespace {

// The end of the segment whose bytes of the file end in the mapping; `otherwise` if the file cannot be read.
std::uint64_t end_of_bss(const MappedRange& data, const SysRoot& root, pid_t pid, std::uint64_t otherwise) {
    const auto library = open_mapped_library(root, pid, data);
    if (!library) return otherwise;
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::uint64_t end = data.end;
    const std::uint64_t end_in_file = data.offset + (data.end - data.start);
    for (const ElfSegment& segment : library->elf.segments()) {
        const std::uint64_t file_end = segment.offset + segment.file_size;
        if (segment.file_size == 0 || file_end > end_in_file || file_end + page <= end_in_file) continue;
        const std::uint64_t bss = segment.memory_size - std::min(segment.memory_size, segment.file_size);
        // Read-only data of another segment can end in the same page of the file.
        end = std::max(end, rounded_up(data.end - (end_in_file - file_end) + bss, page));
    }
    return end;
}

}  // namespace

ProcessMaps name_bss(ProcessMaps maps, const SysRoot& root, pid_t pid) {
    constexpr std::size_t kMostFiles = 2048;
    std::vector<MappedRange> ranges;
    ranges.reserve(maps.ranges.size());
    std::size_t files = 0;
    for (MappedRange& range : maps.ranges) {
        const bool follows = !ranges.empty() && ranges.back().inode != 0 && ranges.back().writable &&
                             !ranges.back().shared && ranges.back().end == range.start && is_anonymous(range);
        if (follows && files++ < kMostFiles) {
            const std::uint64_t end = std::min(end_of_bss(ranges.back(), root, pid, range.end), range.end);
            if (end > range.start) {
                MappedRange& bss = ranges.emplace_back(range);
                bss.end = range.start = end;
                bss.path = kBss;
            }
            if (range.start == range.end) continue;
        }
        ranges.push_back(std::move(range));
    }
    maps.ranges = std::move(ranges);
    return maps;
}

}  // namespace memscope
