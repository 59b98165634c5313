#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sources/heap/glibc_arenas.h"
#include "sources/heap/present_memory.h"
#include "sources/heap/thread_stacks.h"

namespace memscope {

// Free chunks in the caches of threads. Their heads look like those of used chunks, and malloc_trim() does not touch
// them.
struct TcacheChunks {
    std::uint64_t caches = 0;
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> chunks{};  // sorted addresses
};

// The address of its tcache is in the TLS of each thread, at the same distance from its struct pthread. The distance is
// found by a vote of the threads.
TcacheChunks find_tcaches(const GlibcMalloc& glibc, std::span<const GlibcThread> threads, PresentMemory& memory,
                          const ReadDeadline& deadline);

}  // namespace memscope
