#include "sources/heap/python/pool_objects.h"

#include <algorithm>

namespace memscope {

PoolObjects::PoolObjects(const PythonPools& pools, std::uint64_t most_bytes) : pools_(pools) {
    constexpr unsigned kLeastBits = 6;  // no word belongs to two arenas
    std::uint64_t largest = 1;
    for (const HeapRange& arena : pools.arenas()) largest = std::max(largest, arena.size());
    slot_bits_ = std::max(kLeastBits, static_cast<unsigned>(std::bit_width((largest - 1) / kUnit)));
    const std::size_t words = (pools.arenas().size() << slot_bits_) / 64;
    if (pools.arenas().size() > std::size_t{1} << (32 - slot_bits_) || words * sizeof(Word) > most_bytes) return;
    arenas_ = pools.arenas().size();
    words_.resize(words);
}

bool PoolObjects::add(Address object) {
    const std::size_t arena = pools_.arena_at(object);
    if (arena >= arenas_ || object % kUnit != 0) return false;
    const std::uint32_t slot = slot_of(arena, object);
    if (!slots_.empty() && slot <= slots_.back()) return false;
    words_[slot / 64].objects |= std::uint64_t{1} << slot % 64;
    slots_.push_back(slot);
    return true;
}

void PoolObjects::add_leaf(Address object) {
    const std::size_t arena = pools_.arena_at(object);
    if (arena >= arenas_ || object % kUnit != 0) return;
    const std::uint32_t slot = slot_of(arena, object);
    words_[slot / 64].leaves |= std::uint64_t{1} << slot % 64;
}

void PoolObjects::finish() {
    NodeNumber sum = 0;
    for (Word& word : words_) {
        word.before = sum;
        sum += static_cast<NodeNumber>(std::popcount(word.objects));
    }
}

void PoolObjects::clear() {
    words_ = {};
    slots_ = {};
    arenas_ = 0;
}

}  // namespace memscope
