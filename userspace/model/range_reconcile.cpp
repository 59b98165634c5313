// A RangeMap beside what the kernel says is mapped.
#include <algorithm>

#include "model/range_map.h"

namespace memscope {
namespace {

// A shared mapping of a file may be one of a tmpfs: its path does not tell, the call that mapped it did.
bool are_the_same(const RangeUse& known, const FoundRange& found) {
    return known.kind == found.kind || (known.kind == RangeKind::shared && found.shared_file);
}

// Access as it is now; if it has become writable unnoticed, nobody knows where.
RangeUse still_there(const RangeUse& known, const FoundRange& found, RangeOwner owner) {
    RangeUse use = known;
    use.access = found.access;
    if (use.owner == RangeOwner::nobody && is_writable_memory(use)) use.owner = owner;
    return use;
}

}  // namespace

void RangeMap::reconcile(std::span<const FoundRange> found, RangeOwner owner) {
    RangePieces now(pieces_.most());
    // What is too small to have been heard of stays unheard of.
    const auto put_unknown = [&](const AddressRange& range, const FoundRange& from) {
        RangeUse use{.kind = from.kind, .access = from.access};
        if (is_writable_memory(use)) {
            if (owner == RangeOwner::unknown && range.size() < MS_RANGE_LEAST_BYTES) return;
            use.owner = owner;
        }
        now.put(range, use);
    };
    for (const FoundRange& there : found) {
        std::uint64_t at = there.range.begin;
        for (const RangePiece& piece : pieces_.within(there.range)) {
            if (!are_the_same(piece.use, there)) continue;
            put_unknown({at, piece.range.begin}, there);
            now.put(piece.range, still_there(piece.use, there, owner));
            at = piece.range.end;
        }
        put_unknown({at, there.range.end}, there);
    }
    pieces_ = std::move(now);
    find_attached(found);
}

void RangeMap::find_attached(std::span<const FoundRange> found) {
    for (const FoundRange& there : found) {
        const auto at = attached_.find(there.range.begin);
        if (there.kind != RangeKind::attached || at == attached_.end() || at->second.bytes != 0) continue;
        at->second.bytes = there.range.size();
        RangeUse use{.kind = there.kind, .access = there.access};
        if (is_writable_memory(use)) {
            use.owner = RangeOwner::stack;
            use.stack = at->second.stack;
        }
        pieces_.put(there.range, use);
    }
    std::erase_if(attached_, [](const auto& at) { return at.second.bytes == 0; });  // gone again
}

}  // namespace memscope
