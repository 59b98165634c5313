#pragma once
#include <vector>

#include "sources/heap/python/python_pools.h"

// Pools of pymalloc at addresses that a test chooses.
namespace memscope::python_pools_at {

inline constexpr std::uint64_t kArena = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kPool = PythonPools::kPool;

inline PythonPools pools_at(const std::vector<std::uint64_t>& starts, std::uint64_t size = kArena) {
    Pymalloc found{.pool_size = kPool};
    for (const std::uint64_t start : starts) found.arenas.push_back({start, start + size});
    return PythonPools(found);
}

}  // namespace memscope::python_pools_at
