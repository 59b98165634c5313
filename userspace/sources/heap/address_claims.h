#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sources/heap/heap_range.h"
#include "sources/heap/present_memory.h"

namespace memscope {

enum class HeapOwner { arena, mapped_block, python, stack };

// Records the owner of each address range. No address has two owners: a range that overlaps an earlier range is
// refused.
class AddressClaims {
  public:
    bool add(HeapRange range, HeapOwner owner) {
        if (range.size() == 0) return false;
        const auto behind = claims_.lower_bound(range.start);
        if (behind != claims_.end() && behind->first < range.end) return false;
        if (behind != claims_.begin() && std::prev(behind)->second.first.end > range.start) return false;
        claims_.emplace(range.start, Claim{range, owner});
        return true;
    }

    std::vector<HeapRange> ranges() const {
        std::vector<HeapRange> ranges;
        ranges.reserve(claims_.size());
        for (const auto& [start, claim] : claims_) ranges.push_back(claim.first);
        return ranges;
    }
    std::vector<std::pair<HeapRange, HeapOwner>> all() const {
        std::vector<std::pair<HeapRange, HeapOwner>> claims;
        claims.reserve(claims_.size());
        for (const auto& [start, claim] : claims_) claims.push_back(claim);
        return claims;
    }

    // Present bytes of the range that have no owner.
    std::uint64_t unclaimed(const HeapRange& range, const PresentPages& pages) const {
        std::uint64_t bytes = pages.bytes_in(range);
        auto claim = claims_.upper_bound(range.start);
        if (claim != claims_.begin()) --claim;
        for (; claim != claims_.end() && claim->first < range.end; ++claim) {
            const HeapRange& owned = claim->second.first;
            bytes -= pages.bytes_in({std::max(owned.start, range.start), std::min(owned.end, range.end)});
        }
        return bytes;
    }

  private:
    using Claim = std::pair<HeapRange, HeapOwner>;
    std::map<std::uint64_t, Claim> claims_{};
};

}  // namespace memscope
