#include "sources/heap/native_blocks.h"

#include <algorithm>

namespace memscope {

NativeBlocks::NativeBlocks(std::vector<HeapBlock> blocks, std::span<const HeapRange> mapped_blocks,
                           std::span<const HeapRange> mappings)
    : blocks_(std::move(blocks)) {
    for (HeapBlock& block : blocks_) block.mark = 0;
    add(mapped_blocks, Kind::raw);
    add(mappings, Kind::mapping);
    index();
}

void NativeBlocks::add(std::span<const HeapRange> ranges, Kind kind_of_content) {
    constexpr std::uint64_t kMostUnits = ~std::uint32_t{0};
    const auto middle = static_cast<std::ptrdiff_t>(blocks_.size());
    for (const HeapRange& range : ranges) {
        // The content of a mapping begins with the mapping, as if a head lay before it.
        const std::uint64_t before = kind_of_content == Kind::mapping ? kHead : 0;
        if (range.start < kHead || range.size() == 0) continue;
        const std::uint64_t units = std::min((range.size() + before) / 16, kMostUnits);
        blocks_.push_back({.start = range.start - before,
                           .units = static_cast<std::uint32_t>(units),
                           .mark = static_cast<std::uint32_t>(kind_of_content) << kKindShift});
    }
    std::inplace_merge(blocks_.begin(), blocks_.begin() + middle, blocks_.end(),
                       [](const HeapBlock& a, const HeapBlock& b) { return a.start < b.start; });
}

void NativeBlocks::index() {
    constexpr std::uint64_t kGap = 64 << 10;
    constexpr std::uint64_t kMostRoots = std::uint64_t{1} << 18U;
    for (Number i = 0; i < size(); ++i) {
        if (regions_.empty() || content(i) > regions_.back().end + kGap)
            regions_.push_back({.start = content(i), .first = i});
        regions_.back().end = std::max(regions_.back().end, blocks_[i].end());
        regions_.back().last = i + 1;
    }
    if (regions_.empty()) return;
    for (Region& region : regions_) {
        region.first_page = static_cast<std::uint32_t>(pages_.size());
        Number at = region.first;
        for (std::uint64_t page = 0; page <= ((region.end - 1 - region.start) >> 12U) + 1; ++page) {
            while (at < region.last && (content(at) - region.start) >> 12U < page) ++at;
            pages_.push_back(at);
        }
    }
    lowest_ = regions_.front().start;
    highest_ = std::min(regions_.back().end, lowest_ + (kMostRoots << kRootBits));
    roots_.assign(((highest_ - lowest_) >> kRootBits) + 1, 0);
    for (std::uint32_t r = 0; r < regions_.size() && regions_[r].start < highest_; ++r)
        for (std::uint64_t at = (regions_[r].start - lowest_) >> kGranuleBits;
             at <= (std::min(regions_[r].end, highest_) - 1 - lowest_) >> kGranuleBits; ++at) {
            std::uint32_t& leaf = roots_[at / kGranules];
            if (leaf == 0) {
                granules_.insert(granules_.end(), kGranules, kNone);
                leaf = static_cast<std::uint32_t>(granules_.size() / kGranules);
            }
            std::uint32_t& first = granules_[(leaf - 1) * kGranules + at % kGranules];
            first = std::min(first, r);
        }
}

void NativeBlocks::claim(std::uint64_t address, std::uint32_t node, Kind kind_of_content) {
    const Number block = find(address);
    if (block == kNone || node > kNodeMask) return;
    std::uint32_t& mark = blocks_[block].mark;
    const Kind was = kind(block);
    if (was == Kind::mapping && kind_of_content == Kind::buffer) {
        if ((mark & kNodeMask) == 0) mark |= node;  // it stays a mapping, which has no head
    } else if (was == Kind::raw) {
        mark = node | static_cast<std::uint32_t>(kind_of_content) << kKindShift;
    }
}

void NativeBlocks::forget_claims() {
    for (HeapBlock& block : blocks_)
        block.mark = static_cast<Kind>(block.mark >> kKindShift) == Kind::mapping ? block.mark & ~kNodeMask : 0;
}

std::size_t NativeBlocks::memory() const {
    return blocks_.capacity() * sizeof(HeapBlock) + regions_.capacity() * sizeof(Region) +
           (pages_.capacity() + roots_.capacity() + granules_.capacity()) * sizeof(std::uint32_t);
}

}  // namespace memscope
