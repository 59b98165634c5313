#include "watch/stall_recorder.h"

namespace memscope {
namespace {

// No reclaim takes that long: whoever began before has come back, and nobody told us.
constexpr std::uint64_t kLongestStallNs = 600'000'000'000;

}  // namespace

void StallRecorder::book(const ReclaimTimer* signal, CgroupId target, const Nesting& nesting) {
    if (!signal) return;
    if (const auto counted = signal->read(target)) ledger_.book(target, *counted, nesting);
}

std::optional<ReclaimStalls> StallRecorder::of(const ReclaimTimer* signal, CgroupId target) const {
    return signal ? std::optional(ledger_.of(target)) : std::nullopt;
}

void StallRecorder::sweep(ReclaimTimer* signal, std::uint64_t now_boot_ns) {
    if (!signal || now_boot_ns - swept_ns_ < kLongestStallNs) return;
    swept_ns_ = now_boot_ns;
    signal->forget_begun_before(now_boot_ns - kLongestStallNs);
}

}  // namespace memscope
