#include "sources/heap/glibc_free.h"

#include <algorithm>

#include "sources/heap/glibc_free_lists.h"
#include "sources/heap/glibc_heap_walk.h"

namespace memscope {
namespace {

constexpr double kWalkSecondsPerByte = 0.9 / (1 << 30);  // of the wall clock, with pauses
constexpr Seconds kLeastWalk{0.02};

Seconds walk_time(const GlibcMalloc& glibc, const PresentMemory& memory) {
    std::uint64_t present = 0;
    for (const HeapRange& heap : glibc.heaps) present += memory.pages().bytes_in(heap);
    return std::max(kLeastWalk, Seconds{static_cast<double>(present) * kWalkSecondsPerByte});
}

}  // namespace

GlibcFree find_glibc_free(const GlibcMalloc& glibc, const TcacheChunks& tcaches, PresentMemory& memory,
                          const FreeLimits& limits) {
    const Seconds walk = walk_time(glibc, memory), left = limits.deadline.left();
    const bool can_walk = !glibc.arenas.front().scattered;
    FreeLimits first = limits;
    if (can_walk) first.deadline = limits.deadline.sooner(std::min(left / 4, std::max(kLeastWalk, walk / 4)));
    FreeLists lists(glibc, memory, first, limits.deadline.sooner(left / 4));
    const GlibcFree free = lists.follow();
    const bool exact = free.torn == 0 && free.absent == 0 && free.cut_off == 0 && !free.late;
    if (exact || !can_walk) return free;
    HeapWalk heaps(glibc, tcaches, lists, memory);
    if (walk < limits.deadline.left() * 0.6)
        if (const auto walked = heaps.walk_all(free, limits.deadline.sooner(limits.deadline.left() * 0.7)))
            return *walked;
    return heaps.sample(free, limits.deadline);
}

GlibcFree find_glibc_free_by(FreeMethod method, const GlibcMalloc& glibc, const TcacheChunks& tcaches,
                             PresentMemory& memory, const FreeLimits& limits) {
    FreeLists lists(glibc, memory, limits, limits.deadline);
    const GlibcFree free = lists.follow();
    if (method == FreeMethod::lists) return free;
    HeapWalk heaps(glibc, tcaches, lists, memory);
    if (method == FreeMethod::sample) return heaps.sample(free, limits.deadline);
    const auto walked = heaps.walk_all(free, limits.deadline);
    return walked ? *walked : free;
}

}  // namespace memscope
