#pragma once
#include <cstdint>
#include <vector>

#include "sources/heap/glibc_walk.h"

namespace memscope {

// The live blocks of malloc and the large private mappings of a process, found by address in about 30 ns. Each block
// has a mark: what lies in it.
class NativeBlocks {
  public:
    enum class Kind : std::uint8_t {
        raw,      // not known: every word of it can be a pointer
        object,   // an object of Python
        buffer,   // items, keys or elements of an object of Python
        cpp,      // an object of C++ that is a node of the object graph
        mapping,  // a private mapping that no allocator owns
    };
    using Number = std::uint32_t;
    static constexpr Number kNone = ~Number{0};
    static constexpr std::uint64_t kHead = 16;  // bytes before the content of a block

    NativeBlocks() = default;
    // All sorted and disjoint. `mapped_blocks`: of malloc, each in a mapping of its own.
    NativeBlocks(std::vector<HeapBlock> blocks, std::span<const HeapRange> mapped_blocks,
                 std::span<const HeapRange> mappings);

    Number size() const { return static_cast<Number>(blocks_.size()); }
    bool empty() const { return blocks_.empty(); }
    std::uint64_t content(Number block) const { return blocks_[block].start + kHead; }
    // A block also owns the first word behind its end, where the head of the next block begins.
    std::uint64_t content_end(Number block) const {
        return blocks_[block].end() + (kind(block) == Kind::mapping ? 0 : 8);
    }
    std::uint64_t bytes(Number block) const {
        return kind(block) == Kind::mapping ? blocks_[block].bytes() - kHead : blocks_[block].bytes();
    }
    Kind kind(Number block) const { return static_cast<Kind>(blocks_[block].mark >> kKindShift); }
    std::uint32_t node(Number block) const { return blocks_[block].mark & kNodeMask; }  // 0: none

    // The block whose content contains the address. kNone: none.
    Number find(std::uint64_t address) const {
        if (address < lowest_ || address >= highest_) return kNone;
        const std::uint32_t leaf = roots_[(address - lowest_) >> kRootBits];
        if (leaf == 0) return kNone;
        const std::size_t granule = (leaf - 1) * kGranules + (((address - lowest_) >> kGranuleBits) & (kGranules - 1));
        for (std::uint32_t r = granules_[granule]; r < regions_.size() && regions_[r].start <= address; ++r)
            if (address < regions_[r].end) return find_in(regions_[r], address);
        return kNone;
    }

    // Says what lies in the block that contains the address. The first claim of a block stands.
    void claim(std::uint64_t address, std::uint32_t node, Kind kind);
    void forget_claims();

    std::size_t memory() const;

  private:
    void add(std::span<const HeapRange> ranges, Kind kind);
    static constexpr unsigned kKindShift = 28, kRootBits = 30, kGranuleBits = 20;
    static constexpr std::uint32_t kNodeMask = (std::uint32_t{1} << kKindShift) - 1;
    static constexpr std::size_t kGranules = std::size_t{1} << (kRootBits - kGranuleBits);
    // Blocks without a large gap between them.
    struct Region {
        std::uint64_t start = 0, end = 0;  // of contents
        Number first = 0, last = 0;
        std::uint32_t first_page = 0;
    };
    Number find_in(const Region& region, std::uint64_t address) const {
        const std::size_t page = (address - region.start) >> 12U;
        // The blocks whose content begins in this page, and the one before them.
        Number from = pages_[region.first_page + page], to = pages_[region.first_page + page + 1];
        while (from < to) {  // the first block behind the address
            const Number middle = from + (to - from) / 2;
            if (content(middle) <= address)
                from = middle + 1;
            else
                to = middle;
        }
        if (from == region.first) return kNone;
        return address < blocks_[from - 1].end() ? from - 1 : kNone;
    }
    void index();

    std::vector<HeapBlock> blocks_{};
    std::vector<Region> regions_{};
    std::vector<Number> pages_{};            // by page of a region: the first block that begins in it or behind it
    std::vector<std::uint32_t> roots_{};     // by GiB: 1 + index of 1024 granules; 0: nothing there
    std::vector<std::uint32_t> granules_{};  // by MiB: the first region that ends behind its start
    std::uint64_t lowest_ = 0, highest_ = 0;
};

}  // namespace memscope
