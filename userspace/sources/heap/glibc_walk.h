#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sources/heap/glibc_arenas.h"
#include "sources/heap/glibc_tcache.h"
#include "sources/heap/heap_window.h"
#include "sources/heap/present_memory.h"

namespace memscope {

// A chunk of a heap: its head of 16 bytes, then the memory of the user, which includes the first word of the next
// chunk.
struct WalkedChunk {
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    bool live = false;                     // neither free nor in a fastbin or in the cache of a thread
    std::span<const std::byte> content{};  // of the user; empty if the chunk is larger than kMostContent
    static constexpr std::size_t kMostContent = 4096;
};

struct GlibcWalk {
    std::uint64_t live = 0;  // chunks
    std::uint64_t live_bytes = 0;
    std::uint64_t free = 0;  // chunks in bins, fastbins and caches of threads; not the tops
    std::uint64_t free_bytes = 0;
    std::uint64_t cached = 0;         // those of them in fastbins and caches
    std::uint64_t torn = 0;           // places where no chunk makes sense: the process changed the heap, or forged it
    std::uint64_t absent = 0;         // places where the page of a head is not present
    std::uint64_t lost_bytes = 0;     // between such a place and the chunk where the walk continued
    std::uint64_t fast_torn = 0;      // lists of fastbins that were not followed to their end
    std::uint64_t skipped_bytes = 0;  // present memory of heaps that was not walked: see `late` and `cut_off`
    bool late = false;                // the deadline passed
    bool cut_off = false;             // there are more chunks than the limit
};

struct GlibcWalkLimits {
    ReadDeadline deadline;
    std::uint64_t most_chunks = std::uint64_t{1} << 26;
};

// Walks through the heaps of all arenas in the order of their addresses, and visits each chunk but the tops. Where the
// head of a chunk makes no sense, the walk continues where 8 chunks in a row do. The memory that the main arena has
// mapped elsewhere (GlibcArena::scattered) is not walked.
GlibcWalk walk_glibc(const GlibcMalloc& glibc, const TcacheChunks& tcaches, MemorySource& source,
                     const PresentPages& pages, const GlibcWalkLimits& limits,
                     const std::function<void(const WalkedChunk&)>& visit);

// A live block of malloc.
struct HeapBlock {
    std::uint64_t start = 0;  // of the chunk: its content begins 16 bytes behind
    std::uint32_t units = 0;  // of 16 bytes
    std::uint32_t mark = 0;   // for the reader of the list

    std::uint64_t bytes() const { return std::uint64_t{units} * 16; }
    std::uint64_t end() const { return start + bytes(); }
};
static_assert(sizeof(HeapBlock) == 16);

struct HeapBlocks {
    std::vector<HeapBlock> all{};  // sorted and disjoint
    GlibcWalk walk{};
    std::uint64_t left_out = 0;      // live chunks beyond `most_blocks`
    std::uint64_t free_present = 0;  // bytes of free chunks in resident pages
    std::uint64_t free_pages = 0;    // bytes of resident pages that lie inside of free chunks as a whole

    // Whether the list has all blocks, but for some that the process allocated or freed during the walk.
    bool is_whole() const { return !walk.late && !walk.cut_off && left_out == 0 && walk.skipped_bytes == 0; }
};

HeapBlocks find_heap_blocks(const GlibcMalloc& glibc, const TcacheChunks& tcaches, MemorySource& source,
                            const PresentPages& pages, const GlibcWalkLimits& limits, std::size_t most_blocks);

}  // namespace memscope
