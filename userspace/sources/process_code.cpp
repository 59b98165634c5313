#include "sources/process_code.h"

#include <algorithm>

namespace memscope {
namespace {

bool same_file(const MappedRange& a, const MappedRange& b) {
    return a.inode == b.inode && a.dev_major == b.dev_major && a.dev_minor == b.dev_minor;
}

}  // namespace

ProcessCode::ProcessCode(ProcessMaps maps) {
    MappedRange beginning;  // of the file that was mapped last from its beginning
    for (MappedRange& range : maps.ranges) {
        if (range.inode != 0 && range.offset == 0 && range.readable) {
            beginning = range;
            beginning.path.clear();
        }
        if (range.executable) {
            const std::uint64_t headers = same_file(beginning, range) ? beginning.start : 0;
            code_.push_back({.mapped = std::move(range), .headers = headers, .module = {}});
        } else if (!others_.empty() && others_.back().end == range.start) {
            others_.back().end = range.end;
        } else {
            others_.push_back({range.start, range.end});
        }
    }
}

ProcessCode::Range* ProcessCode::at(std::uint64_t address) {
    const auto behind = std::upper_bound(code_.begin(), code_.end(), address,
                                         [](std::uint64_t a, const Range& range) { return a < range.mapped.start; });
    return behind != code_.begin() && address < behind[-1].mapped.end ? &behind[-1] : nullptr;
}

bool ProcessCode::is_mapped(std::uint64_t address) const {
    const auto holds = [&](const auto& ranges, auto start_of, auto end_of) {
        const auto behind = std::upper_bound(ranges.begin(), ranges.end(), address,
                                             [&](std::uint64_t a, const auto& range) { return a < start_of(range); });
        return behind != ranges.begin() && address < end_of(behind[-1]);
    };
    return holds(
               code_, [](const Range& r) { return r.mapped.start; }, [](const Range& r) { return r.mapped.end; }) ||
           holds(others_, [](const Stretch& s) { return s.start; }, [](const Stretch& s) { return s.end; });
}

}  // namespace memscope
