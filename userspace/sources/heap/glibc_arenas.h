#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sources/heap/heap_range.h"
#include "sources/heap/present_memory.h"
#include "sources/proc/process_maps.h"

namespace memscope {

// The malloc of glibc 2.26 to 2.44 on 64-bit machines, read without symbols. x86_64 and arm64 have the same layout.
//
//                                        2.26..2.34  2.35..2.42   2.43
//   struct malloc_state: bytes                 2200        2200   2112
//     fastbinsY[10]                              16          16      -
//     top, last_remainder, bins[254]             96          96      8
//     after the bins (from the bins)     binmap 2032, next 2048, next_free 2056, attached 2064, system_mem 2072,
//                                        max_system_mem 2080
//   struct malloc_par, from sbrk_base:   max_mmapped_mem -8, mmapped_mem -16, tcache_bins +8, tcache_max_bytes +16,
//                                        tcache_count +24
//     n_mmaps, max_n_mmaps                 -32, -24    -36, -28  -36, -28
//     thp_pagesize                                -         -56    -56
//   struct heap_info: bytes                      32          48     48    ar_ptr 0, prev 8, size 16; each 64 MiB
//   link in a fastbin or tcache          plain until 2.31, from 2.32 on XORed with its own address >> 12
//   tcache_perthread_struct: chunk       0x250 until 2.29, 0x290 until 2.41, 0x300 (76 bins) from 2.42 on
//   chunk of a mapped block              {offset, size | 2}: offset + size are whole pages (2.43: + 16)

inline constexpr std::uint64_t kGlibcBins = 127;
inline constexpr std::uint64_t kGlibcFastBins = 10;
inline constexpr std::uint64_t kLeastChunk = 32;
inline constexpr std::uint64_t kChunkHead = 48;  // sizeof(struct malloc_chunk)
// Flags in the word of the size.
inline constexpr std::uint64_t kChunkBeforeInUse = 1;
inline constexpr std::uint64_t kChunkIsMapped = 2;
inline constexpr std::uint64_t kChunkOfOtherArena = 4;
inline constexpr std::uint64_t kChunkSize = ~std::uint64_t{7};

// struct malloc_state from `top` on, which is the same in all versions.
struct GlibcArenaTail {
    std::uint64_t top, last_remainder;
    std::array<std::uint64_t, kGlibcBins * 2> bins;
    std::array<std::uint32_t, 4> binmap;
    std::uint64_t next, next_free, attached_threads, system_mem, max_system_mem;
};
static_assert(sizeof(GlibcArenaTail) == 16 + 2088);

struct GlibcArena {
    std::uint64_t address = 0;
    std::uint64_t bins = 0;  // address of its first bin
    bool main = false;
    bool scattered = false;  // the main arena could not extend the heap with brk() and has mapped memory elsewhere
    GlibcArenaTail tail{};
    std::array<std::uint64_t, kGlibcFastBins> fast{};
    std::uint64_t top_size = 0;          // 0: the size was torn
    std::vector<HeapRange> heaps{};      // sorted
    std::vector<HeapRange> elsewhere{};  // where a scattered arena can have chunks too; sorted

    HeapRange top() const { return {tail.top, tail.top + top_size}; }
    bool can_contain(std::uint64_t chunk, std::uint64_t size) const;
};

struct GlibcParameters {  // struct malloc_par
    std::uint64_t mmaps = 0;
    std::uint64_t mmapped = 0;  // bytes
    std::uint64_t sbrk_base = 0;
    std::uint64_t tcache_count = 0;
    std::uint64_t huge_page = 0;  // 0: not used
};

struct GlibcVersion {
    unsigned major = 0;
    unsigned minor = 0;
    auto operator<=>(const GlibcVersion&) const = default;
};
std::optional<GlibcVersion> parse_glibc_version(std::string_view text);  // "2.36"

struct GlibcMalloc {
    std::optional<GlibcVersion> version{};
    std::uint64_t bins_offset = 0;  // in malloc_state
    std::uint64_t heap_head = 0;    // sizeof(heap_info); 0: there is only the main arena
    std::uint64_t heap_limit = std::uint64_t{64} << 20;
    std::vector<GlibcArena> arenas{};  // the main arena is the first
    std::optional<GlibcParameters> parameters{};
    std::vector<HeapRange> heaps{};  // of all arenas, sorted

    bool has_fastbins() const { return bins_offset > 100; }
    bool hides_links() const { return version ? *version >= GlibcVersion{2, 32} : heap_head != 32; }
    bool is_in_a_heap(std::uint64_t address) const {
        const HeapRange* heap = range_at(heaps, address);
        return heap && heap->contains(address, kLeastChunk);
    }
    bool was_used() const { return arenas.front().tail.system_mem != 0; }
};

// Finds main_arena in the data of the C library by its bins: 127 pairs of words, each of which points to itself (an
// empty bin) or to chunks. The member `next` leads through all arenas back to the first; each of them must have such
// bins. `nullopt` if no arenas were found. If they changed during the read, a second try may find them.
std::optional<GlibcMalloc> find_glibc_malloc(std::span<const LibraryData> libraries,
                                             std::optional<GlibcVersion> version, PresentMemory& memory,
                                             const ProcessMaps& maps, const ReadDeadline& deadline);

// Number of arenas whose heaps do not add up to the size that the arena itself counts. A few of them may be growing.
std::size_t count_inconsistent_arenas(const GlibcMalloc& glibc);

// The blocks that malloc has mapped one by one, sorted. Each block begins with a head that has its size. `taken`:
// sorted ranges that have another owner.
std::vector<HeapRange> find_mapped_blocks(const GlibcMalloc& glibc, PresentMemory& memory, const ProcessMaps& maps,
                                          std::span<const HeapRange> taken, const ReadDeadline& deadline);

}  // namespace memscope
