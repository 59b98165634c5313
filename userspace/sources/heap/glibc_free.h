#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

#include "sources/heap/glibc_arenas.h"
#include "sources/heap/glibc_tcache.h"
#include "sources/heap/glibc_walk.h"
#include "sources/heap/present_memory.h"

namespace memscope {

// How the free memory was found.
//   lists:  from the free lists. Exact, about 3 us per free chunk.
//   walk:   chunk by chunk through the heaps. Exact while the process is quiet, 0.5 to 0.7 s per GiB of small chunks.
//   sample: a walk through random windows of the heaps. An estimate with a bounded cost.
enum class FreeMethod { lists, walk, sample };

struct GlibcFree {
    FreeMethod method = FreeMethod::lists;
    std::uint64_t chunks = 0;       // free chunks in bins and fastbins
    std::uint64_t bytes = 0;        // size of these chunks
    std::uint64_t present = 0;      // bytes of these chunks in resident pages
    std::uint64_t top_present = 0;  // resident bytes of the top chunks
    std::uint64_t trimmable = 0;    // resident bytes that malloc_trim(0) would return
    std::uint64_t torn = 0;         // inconsistent places: the process changed the heap during the read, or forged it
    std::uint64_t absent = 0;       // places where a page could not be read, for instance because it is swapped out
    std::uint64_t cut_off = 0;      // lists with more chunks than the limit
    bool late = false;              // the deadline passed: lists are not complete
    double error = 0;               // FreeMethod::sample: half of the 95 % confidence interval, as a share of the heaps
};

struct FreeLimits {
    ReadDeadline deadline;
    std::size_t most_chunks = std::size_t{1} << 22;  // most chunks to remember, 16 bytes each
    // All chunks, from a walk that the caller needs anyway. Null if it could not be made.
    std::function<const HeapBlocks*()> walk{};
};

// Follows the free lists first. If that takes longer than a walk would, or if a list was torn, it walks the heaps, or
// uses the walk of the caller. If
// the heaps are too large for that, it walks samples of them.
GlibcFree find_glibc_free(const GlibcMalloc& glibc, const TcacheChunks& tcaches, PresentMemory& memory,
                          const FreeLimits& limits);
// Like find_glibc_free(), but with one method only, for tests and measurements.
GlibcFree find_glibc_free_by(FreeMethod method, const GlibcMalloc& glibc, const TcacheChunks& tcaches,
                             PresentMemory& memory, const FreeLimits& limits);

}  // namespace memscope
