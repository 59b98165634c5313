#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sources/heap/present_memory.h"

namespace memscope {

struct PoolHead {  // struct pool_header
    std::uint32_t used, unused;
    std::uint64_t free_block, next, previous;
    std::uint32_t arena_index, size_index, next_offset, last_offset;

    std::uint64_t block_size() const { return (std::uint64_t{size_index} + 1) * 16; }
    std::uint64_t pool_size() const;  // 0: this is not the head of a pool
};
static_assert(sizeof(PoolHead) == 48);

// CPython's own allocator for objects of at most 512 bytes. Bytes count resident pages only.
struct Pymalloc {
    std::uint64_t pool_size = 0;
    std::vector<HeapRange> arenas{};  // sorted
    std::uint64_t free_blocks = 0;    // bytes, in pools that also have used blocks
    std::uint64_t free_pools = 0;     // bytes
    std::uint64_t live = 0;           // bytes of used blocks
    std::uint64_t unread_pools = 0;   // their heads were torn
    std::uint64_t absent_pools = 0;   // their heads could not be read
};

// Finds the array of arenas: a word in the data of Python points to it. It has 16 * 2^n entries {address, pool_address,
// nfreepools, ntotalpools, ...} of 48 bytes. The array was allocated by malloc, so its size is before it if malloc is
// glibc's. Pools have 16 KiB (4 KiB before 3.10) and a head of 48 bytes. CPython 3.9 to 3.15.
enum class MallocHeads { glibc, unknown };
std::optional<Pymalloc> read_pymalloc(std::span<const LibraryData> libraries, MallocHeads heads, PresentMemory& memory,
                                      const ReadDeadline& deadline);

}  // namespace memscope
