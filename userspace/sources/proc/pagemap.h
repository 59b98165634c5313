#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/files.h"
#include "model/sharing.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// Number of sampled pages of each kind.
struct PageSample {
    std::uint64_t own_anon = 0;
    std::uint64_t shared_anon = 0;
    std::uint64_t own_mapped = 0;
    std::uint64_t shared_mapped = 0;
};

// Chooses which pages to sample. Each pass is spread over all mapped memory. The choice stays the same until the
// process grows to twice its size, so a difference between two samples is a change in the process.
struct SamplePlan {
    static constexpr unsigned kPasses = 8;
    static constexpr std::uint64_t kPagesAPiece = 32;  // pages that are read together
    static constexpr std::uint64_t kMostPieces = 8192;

    std::uint64_t cell = 0;  // a power of two; one piece is sampled in each cell
    std::uint64_t page = 0;

    static SamplePlan of(const ProcessMaps& maps, Bytes page);
    std::uint64_t piece_in(std::uint64_t cell_index) const;  // its address
};

// Samples the pages of a process (/proc/PID/pagemap). The kernel holds its mmap_lock for one piece at a time, which
// takes some microseconds. A walk of all pages would hold it for tens of milliseconds per GiB. Stops early, with fewer
// pages, after the time `most`. ESRCH if the process has exited or has released its memory.
Result<PageSample> sample_pages(const Fd& process, const ProcessMaps& maps, Bytes page, Seconds most);

// Estimates the sharing of all pages of the process from a sample. Zero pages that were only read count as shared,
// although they use no memory, so own memory is under-estimated rather than over-estimated. `statm` is the text of
// /proc/PID/statm.
std::optional<PageSharing> extrapolate(const PageSample& sample, std::string_view statm, Bytes page);

// Returns those of the addresses whose page is not anonymous memory any more: the page is neither present nor swapped
// out, or it is a page of a file. `addresses` and the result are in ascending order. ESRCH if the process has exited or
// has released its memory.
Result<std::vector<std::uint64_t>> absent_pages(const Fd& process, std::span<const std::uint64_t> addresses,
                                                Bytes page);

Result<PageSharing> read_page_sample(const Fd& process, Seconds most);

}  // namespace memscope
