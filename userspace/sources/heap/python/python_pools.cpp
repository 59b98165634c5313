#include "sources/heap/python/python_pools.h"

namespace memscope {

PythonPools::PythonPools(const Pymalloc& found) {
    if (found.pool_size != kPool) return;
    for (const HeapRange& arena : found.arenas)
        if (arena.size() <= kPoolsInArena * kPool) arenas_.push_back(arena);
    classes_.assign(arenas_.size() * kPoolsInArena, 0);
}

std::optional<PythonPools::Block> PythonPools::block_at(Address address) const {
    const HeapRange* arena = range_at(arenas_, address);
    const Address pool = rounded_down(address, kPool);
    if (arena == nullptr || pool < arena->start) return std::nullopt;
    const auto index = static_cast<std::size_t>(arena - arenas_.data());
    const std::size_t place = index * kPoolsInArena + (pool - rounded_up(arena->start, kPool)) / kPool;
    const std::uint32_t size = place < classes_.size() ? classes_[place] * 16U : 0;
    if (size == 0 || address < pool + sizeof(PoolHead)) return std::nullopt;
    const Address start = address - (address - pool - sizeof(PoolHead)) % size;
    if (start + size > pool + kPool) return std::nullopt;
    return Block{start, size};
}

bool PythonPools::read_pool(HeapCopy& memory, Address pool, PoolHead& head, std::array<bool, kMostBlocks>& is_free) {
    memory.read(pool, std::as_writable_bytes(std::span(&head, 1)));
    if (head.pool_size() != kPool || head.used == 0) return false;
    const std::uint64_t size = head.block_size(), blocks = (kPool - sizeof head) / size;
    if (head.used > blocks) return false;
    is_free.fill(false);
    Address block = head.free_block;
    for (std::uint64_t i = 0; i < blocks && block >= pool + sizeof head && block < pool + kPool; ++i) {
        const std::uint64_t index = (block - pool - sizeof head) / size;
        if (index >= blocks || is_free[index]) break;
        is_free[index] = true;
        block = memory.word(block);
    }
    return true;
}

}  // namespace memscope
