#include "model/range_pieces.h"

#include <algorithm>

namespace memscope {

Bytes MappedTotals::grown() const {
    Bytes sum = unknown;
    for (const auto& [stack, bytes] : stacks) sum += bytes.sum();
    return sum;
}

RangePieces::Pieces::const_iterator RangePieces::first_behind(std::uint64_t address) const {
    const auto next = pieces_.upper_bound(address);
    if (next == pieces_.begin()) return next;
    const auto before = std::prev(next);
    return before->second.end > address ? before : next;
}

void RangePieces::book(const RangeUse& use, std::uint64_t bytes, bool added) {
    const auto change = [&](Bytes& sum) { sum.n = added ? sum.n + bytes : sum.n - bytes; };
    if (use.kind == RangeKind::file) return change(totals_.file);
    if (use.kind == RangeKind::other) return change(totals_.device);
    if (use.access.none()) return change(totals_.reserved);
    if (!use.access.writable) return change(totals_.unwritable);
    if (use.owner == RangeOwner::unknown) return change(totals_.unknown);
    if (use.owner != RangeOwner::stack) return change(totals_.before);
    MappedAtStack& at = totals_.stacks[use.stack];
    change(use.kind == RangeKind::anonymous ? at.anonymous : at.shared);
    if (at.sum().n == 0) totals_.stacks.erase(use.stack);
}

void RangePieces::cut_at(std::uint64_t address) {
    const auto next = pieces_.lower_bound(address);
    if (next == pieces_.begin()) return;
    const auto found = std::prev(next);
    if (found->second.end <= address) return;
    const Rest right = found->second;
    found->second.end = address;
    if (pieces_.size() < most_) {
        pieces_.emplace(address, right);
        return;
    }
    book(right.use, right.end - address, false);
    left_out_ += Bytes{right.end - address};
}

std::vector<RangePiece> RangePieces::take(const AddressRange& range) {
    std::vector<RangePiece> taken;
    if (range.size() == 0) return taken;
    cut_at(range.begin);
    cut_at(range.end);
    for (auto at = pieces_.lower_bound(range.begin); at != pieces_.end() && at->first < range.end;) {
        taken.push_back({{at->first, at->second.end}, at->second.use});
        book(at->second.use, at->second.end - at->first, false);
        at = pieces_.erase(at);
    }
    return taken;
}

std::vector<RangePiece> RangePieces::within(const AddressRange& range) const {
    std::vector<RangePiece> found;
    for (auto at = first_behind(range.begin); at != pieces_.end() && at->first < range.end; ++at)
        found.push_back({{std::max(at->first, range.begin), std::min(at->second.end, range.end)}, at->second.use});
    return found;
}

void RangePieces::put(const AddressRange& range, const RangeUse& use) {
    if (range.size() == 0) return;
    take(range);
    AddressRange whole = range;
    const auto next = pieces_.lower_bound(range.begin);
    const auto before = next == pieces_.begin() ? pieces_.end() : std::prev(next);
    const bool joins_next = next != pieces_.end() && next->first == range.end && next->second.use == use;
    const bool joins_before = before != pieces_.end() && before->second.end == range.begin && before->second.use == use;
    if (!joins_next && !joins_before && pieces_.size() >= most_) {
        left_out_ += Bytes{range.size()};
        return;
    }
    if (joins_next) {
        whole.end = next->second.end;
        pieces_.erase(next);
    }
    if (joins_before)
        before->second.end = whole.end;
    else
        pieces_.emplace(whole.begin, Rest{whole.end, use});
    book(use, range.size(), true);
}

void RangePieces::put_where_empty(const RangePiece& piece) {
    std::uint64_t at = piece.range.begin;
    for (const RangePiece& there : within(piece.range)) {
        put({at, there.range.begin}, piece.use);
        at = there.range.end;
    }
    put({at, piece.range.end}, piece.use);
}

// Neighbours that differed by their owners alone stay apart: they become one when something happens to them.
void RangePieces::disown() {
    for (auto& [begin, rest] : pieces_) {
        if (rest.use.owner == RangeOwner::nobody) continue;
        rest.use.owner = RangeOwner::before;
        rest.use.stack = 0;
    }
    totals_.before += totals_.grown();
    totals_.unknown = Bytes{};
    totals_.stacks.clear();
}

}  // namespace memscope
