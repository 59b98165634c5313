#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <tuple>
#include <vector>

#include "base/files.h"
#include "model/growth/range_event.h"

namespace memscope {

// One line of /proc/PID/maps.
struct MappedRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;  // one past the last byte
    bool readable = false;
    bool writable = false;
    bool executable = false;
    bool shared = false;
    std::uint64_t offset = 0;  // file offset of `start`
    unsigned dev_major = 0;
    unsigned dev_minor = 0;
    std::uint64_t inode = 0;  // 0: no file
    std::string path{};       // any bytes; empty: anonymous; "[heap]", "[anon:name]" and the like: no file either
    bool deleted = false;     // the file was deleted; it had this path
    auto fields() {
        return std::tie(start, end, readable, writable, executable, shared, offset, dev_major, dev_minor, inode, path,
                        deleted);
    }
    auto operator<=>(const MappedRange&) const = default;
};

struct ProcessMaps {
    std::vector<MappedRange> ranges{};  // sorted, none overlaps another
    bool truncated = false;             // true: the limits below cut the list off
    const MappedRange* at(std::uint64_t address) const;
};

constexpr std::size_t kMapsTextLimit = std::size_t{32} << 20;
constexpr std::size_t kMapsRangeLimit = std::size_t{1} << 18;

// Lines that cannot be parsed, or that are out of order, are left out.
ProcessMaps parse_process_maps(std::string_view text);
Result<ProcessMaps> read_process_maps(const SysRoot& root, pid_t pid);
Result<ProcessMaps> read_process_maps(const Fd& process);  // `process` is its directory in /proc

// The ranges as memscope's map of ranges records them. Ranges that the kernel created itself, such as the main stack,
// are left out because the program did not map them.
std::vector<FoundRange> found_ranges(const ProcessMaps& maps);

}  // namespace memscope
