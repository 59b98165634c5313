#include "watch/stall_recorder.h"

namespace memscope {
namespace {

// No reclaim takes that long: whoever began before has come back, and nobody told us.
constexpr std::uint64_t kLongestStallNs = 600'000'000'000;

}  // namespace

void StallRecorder::book(const ReclaimTimer* timer, CgroupId target, const Nesting& nesting) {
    if (!timer) return;
    if (const auto counted = timer->read(target)) ledger_.book(target, *counted, nesting);
}

std::optional<ReclaimStalls> StallRecorder::of(const ReclaimTimer* timer, CgroupId target) const {
    return timer ? std::optional(ledger_.of(target)) : std::nullopt;
}

void StallRecorder::sweep(ReclaimTimer* timer, std::uint64_t now_boot_ns) {
    if (!timer || now_boot_ns - swept_ns_ < kLongestStallNs) return;
    swept_ns_ = now_boot_ns;
    timer->forget_begun_before(now_boot_ns - kLongestStallNs);
}

}  // namespace memscope
