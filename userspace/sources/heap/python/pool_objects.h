#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "sources/heap/python/object_edges.h"
#include "sources/heap/python/python_pools.h"

namespace memscope {

// The objects in pools, numbered from 1 on in the order of their addresses. Two bits for each 16 bytes of an arena say
// what begins there, so an address is looked up without a hash table and without a read of the process's memory.
class PoolObjects {
  public:
    static constexpr NodeNumber kLeaf = kNoNode;

    // Without room for the bits of all arenas it stays empty.
    PoolObjects(const PythonPools& pools, std::uint64_t most_bytes);

    // Both in the order of addresses, then finish().
    bool add(Address object);       // false: no room, not aligned, or not above the address of the last object
    void add_leaf(Address object);  // a number or a string that has no number of its own
    void finish();
    void clear();
    bool has_room() const { return arenas_ > 0; }

    // 0: there is no object; kLeaf: a leaf. `arena` of the address, as PythonPools::arena_at() says.
    NodeNumber find(std::size_t arena, Address address) const {
        if (arena >= arenas_ || address % kUnit != 0) return 0;
        const std::uint32_t slot = slot_of(arena, address);
        const std::uint64_t bit = std::uint64_t{1} << slot % 64;
        const Word& word = words_[slot / 64];
        if ((word.leaves & bit) != 0) return kLeaf;
        if ((word.objects & bit) == 0) return 0;
        return word.before + static_cast<NodeNumber>(std::popcount(word.objects & (bit - 1))) + 1;
    }
    // Fetches what find() needs into the cache of the CPU.
    void prefetch(std::size_t arena, Address address) const {
        if (arena < arenas_) __builtin_prefetch(&words_[slot_of(arena, address) / 64]);
    }
    NodeNumber count() const { return static_cast<NodeNumber>(slots_.size()); }
    Address address(NodeNumber number) const {
        const std::uint32_t slot = slots_[number - 1];
        return start_of(slot >> slot_bits_) + kUnit * (slot & ((std::uint32_t{1} << slot_bits_) - 1));
    }
    std::size_t arena_of(NodeNumber number) const { return slots_[number - 1] >> slot_bits_; }
    std::size_t bytes() const { return words_.size() * sizeof(Word) + slots_.bytes(); }

  private:
    static constexpr std::uint64_t kUnit = 16;  // all objects in pools are aligned to it
    struct Word {                               // of 64 places
        std::uint64_t objects = 0, leaves = 0;
        NodeNumber before = 0;  // objects in the words before
    };
    Address start_of(std::size_t arena) const { return rounded_up(pools_.arenas()[arena].start, kUnit); }
    std::uint32_t slot_of(std::size_t arena, Address address) const {
        return static_cast<std::uint32_t>(arena << slot_bits_ | (address - start_of(arena)) / kUnit);
    }

    const PythonPools& pools_;
    unsigned slot_bits_ = 0;  // number of bits of the place in an arena; the arena is in the bits above
    std::size_t arenas_ = 0;  // all, or 0
    std::vector<Word> words_{};
    PiecewiseVector<std::uint32_t> slots_{};  // by number
};

}  // namespace memscope
