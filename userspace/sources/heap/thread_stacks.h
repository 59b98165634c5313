#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sources/heap/present_memory.h"

namespace memscope {

// A thread of glibc: running, or ended with its stack kept for the next thread.
struct GlibcThread {
    std::uint64_t node = 0;  // address of its list node, which is in its struct pthread
    std::int32_t tid = 0;    // 0 or -1: ended
    HeapRange stack{};       // empty for the main thread
};

struct GlibcThreads {
    std::vector<GlibcThread> all{};
    bool cut_off = false;  // there are more threads than the limit
    bool late = false;     // the deadline passed: threads are missing
};

// Finds the threads in the lists that glibc keeps: their heads are in the data of ld.so (2.34 and later) or of
// libpthread. A node is {next, previous, tid}, and the stack that contains it follows as {start, size}.
GlibcThreads find_threads(std::span<const LibraryData> libraries, PresentMemory& memory, const ReadDeadline& deadline);

}  // namespace memscope
