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
    std::uint64_t torn = 0;               // caches and lists that do not fit together
    std::uint64_t absent = 0;             // threads, caches and lists that could not be read to their end
    std::uint64_t cut_off = 0;            // lists that are longer than their limit
    bool late = false;                    // the deadline passed: caches are missing
};

// The TLS of each thread has the address of its tcache, at the same distance from its struct pthread. The distance is
// found by a vote of the threads. It is negative on x86_64, where the TLS of libraries lies below struct pthread, and
// positive on arm64, where it lies above.
TcacheChunks find_tcaches(const GlibcMalloc& glibc, std::span<const GlibcThread> threads, PresentMemory& memory,
                          const ReadDeadline& deadline);

}  // namespace memscope
