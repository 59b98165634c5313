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
    std::uint64_t end = 0;  // behind the last byte
    bool readable = false;
    bool writable = false;
    bool executable = false;
    bool shared = false;
    std::uint64_t offset = 0;  // of `start` in the file
    unsigned dev_major = 0;
    unsigned dev_minor = 0;
    std::uint64_t inode = 0;  // 0: no file
    std::string path{};       // any bytes; empty: anonymous; "[heap]", "[anon:name]" and the like: no file either
    bool deleted = false;     // the file had this path
    auto fields() {
        return std::tie(start, end, readable, writable, executable, shared, offset, dev_major, dev_minor, inode, path,
                        deleted);
    }
    auto operator<=>(const MappedRange&) const = default;
};

struct ProcessMaps {
    std::vector<MappedRange> ranges{};  // sorted, none overlaps another
    bool truncated = false;             // there were more
    const MappedRange* at(std::uint64_t address) const;
};

constexpr std::size_t kMapsTextLimit = std::size_t{32} << 20;
constexpr std::size_t kMapsRangeLimit = std::size_t{1} << 18;

// Lines that are not understood or not behind the one before are left out.
ProcessMaps parse_process_maps(std::string_view text);
Result<ProcessMaps> read_process_maps(const SysRoot& root, pid_t pid);
Result<ProcessMaps> read_process_maps(const Fd& process);  // its directory

// What /proc/PID/maps says of each range, in the words of the map of ranges. The stack that the kernel made, and what
// else it put there itself, is no mapping of the program's.
std::vector<FoundRange> found_ranges(const ProcessMaps& maps);

}  // namespace memscope
