#pragma once
#include <cstdint>

#include "base/files.h"
#include "model/sharing.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// How many pages of each kind were among those that were looked at.
struct PageSample {
    std::uint64_t own_anon = 0;
    std::uint64_t shared_anon = 0;
    std::uint64_t own_mapped = 0;
    std::uint64_t shared_mapped = 0;
};

// What a pass of a sample looks at is spread over all that is mapped, and is the same each time while the process does
// not grow to twice its size: so what changes between two samples has changed in the process.
struct SamplePlan {
    static constexpr unsigned kPasses = 8;
    static constexpr std::uint64_t kPagesAPiece = 32;  // are looked at together
    static constexpr std::uint64_t kMostPieces = 8192;

    std::uint64_t cell = 0;  // bytes, a power of two: one piece is looked at in each
    std::uint64_t page = 0;

    static SamplePlan of(const ProcessMaps& maps, Bytes page);
    std::uint64_t piece_in(std::uint64_t cell_index) const;  // its address
};

// Looks at some of the pages of a process (/proc/PID/pagemap). The kernel holds its mmap_lock for one piece at a time,
// some microseconds, where a walk of all its pages would hold it for tens of milliseconds a GiB. Ends early, with
// fewer pages, when that has taken `most`. ESRCH when the process is gone or has given its memory up.
Result<PageSample> sample_pages(const Fd& process, const ProcessMaps& maps, Bytes page, Seconds most);

// What that says of all pages of the process. Pages of zeros that were only read count as shared, though they are no
// memory: so what is its own is rather too little. `statm` is its file.
std::optional<PageSharing> extrapolate(const PageSample& sample, std::string_view statm, Bytes page);

Result<PageSharing> read_page_sample(const Fd& process, Seconds most);

}  // namespace memscope
