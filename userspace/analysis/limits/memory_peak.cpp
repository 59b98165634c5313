#include "analysis/limits/memory_peak.h"

#include <algorithm>

namespace memscope {
namespace {

constexpr std::uint64_t kNextToNoCache = 50;  // divisor of the mark: 2 %

bool has_cache(const MemoryState& memory) {
    return !memory.peak || memory.by_kind.file.n >= memory.peak->n / kNextToNoCache;
}

}  // namespace

void PeakWatch::update(const MemoryState& memory) {
    const bool cached = has_cache(memory);
    if (memory.peak && before_ && *memory.peak > *before_) {
        // The mark rose between two ticks. Page cache that existed at either tick may be part of the mark, and stays
        // part of the mark when the cache is dropped later.
        reached_.reset();
        if (!cached && !cached_before_) reached_ = memory.peak;
    }
    if (memory.peak && before_ && *memory.peak < *before_)
        reached_.reset();  // the mark was reset, or the process tree has moved to another cgroup
    before_ = memory.peak;
    cached_before_ = cached;
}

Bytes room_for(const TargetSnapshot& target, Bytes judged) {
    const MemoryState& memory = target.memory;
    const bool own = memory.measured_at.empty();  // otherwise the mark includes other processes, too
    if (!own || !memory.peak_in_run || has_cache(memory)) return judged;
    return std::max(judged, *memory.peak_in_run);
}

}  // namespace memscope
