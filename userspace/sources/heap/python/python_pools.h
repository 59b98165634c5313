#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sources/heap/pymalloc.h"
#include "sources/heap/python/heap_copy.h"

namespace memscope {

// The blocks that pymalloc has allocated. Every object of at most 512 bytes lies in such a block.
class PythonPools {
  public:
    static constexpr std::uint64_t kPool = 16384;  // CPython 3.10 and later
    static constexpr std::uint64_t kLargestBlock = 512;
    static constexpr std::size_t kMostBlocks = kPool / 16;

    PythonPools() = default;
    explicit PythonPools(const Pymalloc& found);

    // The debug hooks of the allocator put 16 bytes before each object, and at least 8 behind it.
    void expect_debug_hooks() { padding_ = kHookBytes; }
    std::uint32_t padding() const { return padding_; }  // before the object, in its block
    std::uint32_t overhead() const { return padding_ == 0 ? 0 : kHookBytes + 8; }

    bool empty() const { return arenas_.empty(); }
    std::span<const HeapRange> arenas() const { return arenas_; }
    bool contains(Address address) const { return arena_at(address) != kNoArena; }

    static constexpr std::size_t kNoArena = ~std::size_t{0};
    // The index of the arena that contains the address. kNoArena: none.
    std::size_t arena_at(Address address) const {
        const std::uint64_t granule = (address >> kGranuleBits) - first_granule_;  // very large for an address below
        if (granule >= first_in_.size()) return first_in_.empty() ? search(address) : kNoArena;
        for (std::size_t i = first_in_[granule]; i < arenas_.size() && arenas_[i].start <= address; ++i)
            if (address < arenas_[i].end) return i;
        return kNoArena;
    }

    struct Block {
        Address start = 0;
        std::uint32_t bytes = 0;
    };
    // The block at an address in a pool that read() has seen. None: not in such a pool, or between blocks.
    std::optional<Block> block_at(Address address) const;
    // The size of the blocks in the pool at an address. 0: read() has not seen it.
    std::uint32_t block_bytes(std::size_t arena, Address address) const {
        const std::size_t place = place_of(arena, address);
        return place < classes_.size() ? classes_[place] * 16U : 0;
    }

    // Calls visit(Block) for each block of the arena that is in use. Returns the number of pools whose heads are torn.
    template <class Visit>
    std::uint64_t read(HeapCopy& memory, std::size_t arena, Visit&& visit);

  private:
    std::size_t search(Address address) const {
        const HeapRange* arena = range_at(arenas_, address);
        return arena == nullptr ? kNoArena : static_cast<std::size_t>(arena - arenas_.data());
    }
    std::size_t place_of(std::size_t arena, Address address) const {
        return arena * kPoolsInArena + (rounded_down(address, kPool) - rounded_up(arenas_[arena].start, kPool)) / kPool;
    }
    bool read_pool(HeapCopy& memory, Address pool, PoolHead& head, std::array<bool, kMostBlocks>& is_free);

    static constexpr std::uint32_t kHookBytes = 16;
    std::uint32_t padding_ = 0;
    std::vector<HeapRange> arenas_{};
    std::vector<std::uint8_t> classes_{};  // by pool: size of its blocks / 16; 0: not seen
    static constexpr std::size_t kPoolsInArena = 128;
    // Arenas by address: for each MiB from `first_granule_` on, the first arena that ends behind its start. Most of the
    // addresses that are looked up are in pools, and a search through thousands of arenas takes long.
    static constexpr unsigned kGranuleBits = 20;
    static constexpr std::uint64_t kMostGranules = std::uint64_t{1} << 20;
    std::uint64_t first_granule_ = 0;
    std::vector<std::uint32_t> first_in_{};  // empty: the arenas are spread over more than 1 TiB
};

template <class Visit>
std::uint64_t PythonPools::read(HeapCopy& memory, std::size_t arena, Visit&& visit) {
    std::uint64_t torn = 0;
    std::array<bool, kMostBlocks> is_free;
    const HeapRange range = arenas_[arena];
    const Address first = rounded_up(range.start, kPool);
    for (Address pool = first; pool + kPool <= range.end; pool += kPool) {
        if (memory.late()) break;
        PoolHead head{};
        if (!read_pool(memory, pool, head, is_free)) {
            torn += head.used != 0;
            continue;
        }
        const auto size = static_cast<std::uint32_t>(head.block_size());
        const std::size_t place = arena * kPoolsInArena + (pool - first) / kPool;
        if (place < classes_.size()) classes_[place] = static_cast<std::uint8_t>(size / 16);
        const std::uint64_t used = (head.next_offset - sizeof head) / size;
        for (std::uint64_t i = 0; i < used && i < kMostBlocks; ++i)
            if (!is_free[i]) visit(Block{pool + sizeof head + i * size, size});
    }
    return torn;
}

}  // namespace memscope
