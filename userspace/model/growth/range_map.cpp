#include "model/growth/range_map.h"

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

void RangePieces::count(const RangeUse& use, std::uint64_t bytes, bool added) {
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
    count(right.use, right.end - address, false);
    left_out_ += Bytes{right.end - address};
}

std::vector<RangePiece> RangePieces::take(const AddressRange& range) {
    std::vector<RangePiece> taken;
    if (range.size() == 0) return taken;
    cut_at(range.begin);
    cut_at(range.end);
    for (auto at = pieces_.lower_bound(range.begin); at != pieces_.end() && at->first < range.end;) {
        taken.push_back({{at->first, at->second.end}, at->second.use});
        count(at->second.use, at->second.end - at->first, false);
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
    count(use, range.size(), true);
}

void RangePieces::put_where_empty(const RangePiece& piece) {
    std::uint64_t at = piece.range.begin;
    for (const RangePiece& there : within(piece.range)) {
        put({at, there.range.begin}, piece.use);
        at = there.range.end;
    }
    put({at, piece.range.end}, piece.use);
}

// Neighbours that differed only in their owners stay separate pieces until the next change joins them.
void RangePieces::disown() {
    for (auto& [begin, rest] : pieces_) {
        if (rest.use.owner == RangeOwner::none) continue;
        rest.use.owner = RangeOwner::before;
        rest.use.stack = 0;
    }
    totals_.before += totals_.grown();
    totals_.unknown = Bytes{};
    totals_.stacks.clear();
}

namespace {

constexpr Access kReadWrite{.readable = true, .writable = true};

// The use of a range that is mapped now, or that becomes writable now.
RangeUse used(RangeKind kind, const Access& access, std::uint64_t stack) {
    RangeUse use{.kind = kind, .access = access};
    if (is_writable_memory(use)) {
        use.owner = RangeOwner::stack;
        use.stack = stack;
    }
    return use;
}

}  // namespace

bool RangeMap::apply(const RangeEvent& event) {
    switch (event.call) {
        case MS_RANGE_MAP:
            pieces_.put(event.range, used(event.kind, event.access, event.stack));
            note_size(event);
            return true;
        case MS_RANGE_UNMAP:
            take(event, event.range);
            note_troughs(event);
            return true;
        case MS_RANGE_UNMAP_FAILED:
            return put_back(event, MS_RANGE_UNMAP, event.range);
        case MS_RANGE_MOVE_BEGINS:
            take(event, event.old);
            return true;
        case MS_RANGE_MOVED:
            return move(event);
        case MS_RANGE_MOVE_FAILED:
            return put_back(event, MS_RANGE_MOVE_BEGINS, event.old);
        case MS_RANGE_COPIED:
            copy(event);
            return true;
        case MS_RANGE_PROTECT:
            protect(event);
            return true;
        case MS_RANGE_ATTACH:
            attach(event);
            return true;
        case MS_RANGE_DETACH:
            detach(event);
            return true;
        case MS_RANGE_DETACH_FAILED:
            return put_back(event, MS_RANGE_DETACH, event.range);
        case MS_RANGE_GIVE_BACK:  // the range stays mapped
            return true;
        default:
            return false;
    }
}

void RangeMap::take(const RangeEvent& event, const AddressRange& range) {
    if (taken_.size() >= kMostThreads && !taken_.contains(event.thread)) taken_.clear();
    taken_[event.thread] = {event.call, event.time_ns, range, pieces_.take(range)};
}

namespace {

Seconds seconds(std::uint64_t boot_ns) { return std::chrono::nanoseconds(boot_ns); }

std::int64_t bytes_at(const MappedTotals& totals, std::uint64_t stack) {
    const auto found = totals.stacks.find(stack);
    return found == totals.stacks.end() ? 0 : static_cast<std::int64_t>(found->second.sum().n);
}

}  // namespace

// Updates the troughs of the stacks whose ranges the event has unmapped.
void RangeMap::note_troughs(const RangeEvent& event) {
    const Seconds now = seconds(event.time_ns);
    for (const RangePiece& piece : taken_[event.thread].pieces) {
        if (piece.use.owner != RangeOwner::stack || !is_writable_memory(piece.use)) continue;
        if (troughs_.size() >= kMostTroughs && !troughs_.contains(piece.use.stack)) {
            std::erase_if(troughs_, [&](const auto& each) { return each.second.is_over(now); });
            if (troughs_.size() >= kMostTroughs) return;
        }
        const std::int64_t after = bytes_at(totals(), piece.use.stack);
        troughs_[piece.use.stack].note(now, after, after + static_cast<std::int64_t>(piece.range.size()));
    }
}

void RangeMap::note_size(const RangeEvent& event) {
    if (event.stack == 0) return;
    const bool is_arena = event.kind == RangeKind::anonymous && event.range.size() == kPythonArena;
    const auto known = arena_sized_.find(event.stack);
    if (known != arena_sized_.end())
        known->second = known->second && is_arena;
    else if (arena_sized_.size() < kMostSized)
        arena_sized_.emplace(event.stack, is_arena);
}

bool RangeMap::is_arena_sized(std::uint64_t stack) const {
    const auto known = arena_sized_.find(stack);
    return known != arena_sized_.end() && known->second;
}

std::int64_t RangeMap::passing(std::uint64_t stack, std::uint64_t now_ns) const {
    const auto trough = troughs_.find(stack);
    return trough == troughs_.end() ? 0 : trough->second.passing(seconds(now_ns), bytes_at(totals(), stack));
}

std::optional<RangeMap::Taken> RangeMap::taken_by(const RangeEvent& event, ms_range_call call,
                                                  const AddressRange& range) {
    const auto found = taken_.find(event.thread);
    if (found == taken_.end() || found->second.call != call || found->second.range != range) return std::nullopt;
    auto taken = std::move(found->second);
    taken_.erase(found);
    return taken;
}

bool RangeMap::put_back(const RangeEvent& event, ms_range_call call, const AddressRange& range) {
    const auto taken = taken_by(event, call, range);
    if (!taken) return false;
    for (const RangePiece& piece : taken->pieces) {
        for (const RangePiece& there : pieces_.within(piece.range))  // read from /proc/PID/maps meanwhile
            if (there.use.owner == RangeOwner::unknown) pieces_.take(there.range);
        pieces_.put_where_empty(piece);
    }
    return true;
}

bool RangeMap::move(const RangeEvent& event) {
    const auto taken = taken_by(event, MS_RANGE_MOVE_BEGINS, event.old);
    if (!taken) return false;
    const std::uint64_t kept = std::min(event.old.size(), event.range.size());
    const AddressRange more{event.range.begin + kept, event.range.end};
    RangeUse use{.kind = RangeKind::anonymous, .access = kReadWrite, .owner = RangeOwner::before};
    if (taken->pieces.empty() && holds_unknown(event.range)) return true;  // read from /proc/PID/maps after the move
    pieces_.take(event.range);
    if (!taken->pieces.empty()) {
        use = taken->pieces.back().use;
    } else if (event.old.size() < MS_RANGE_LEAST_BYTES) {  // too small to have been sent: all of it is new here
        pieces_.put(event.range, used(RangeKind::anonymous, kReadWrite, event.stack));
        return true;
    } else {  // mapped by the kernel itself, or before it was followed
        pieces_.put({event.range.begin, more.begin}, use);
    }
    for (const RangePiece& piece : taken->pieces) {
        const std::uint64_t from = piece.range.begin - event.old.begin;
        const std::uint64_t to = std::min(piece.range.end - event.old.begin, kept);
        if (from < to) pieces_.put({event.range.begin + from, event.range.begin + to}, piece.use);
    }
    pieces_.put(more, used(use.kind, use.access, event.stack));
    return true;
}

void RangeMap::copy(const RangeEvent& event) {
    const auto there = pieces_.within({event.old.begin, event.old.begin + 1});
    const RangeUse use = there.empty() ? used(RangeKind::anonymous, kReadWrite, 0) : there.front().use;
    pieces_.put(event.range, used(use.kind, use.access, event.stack));
}

bool RangeMap::holds_unknown(const AddressRange& range) const {
    const auto there = pieces_.within(range);
    return std::any_of(there.begin(), there.end(),
                       [](const RangePiece& piece) { return piece.use.owner == RangeOwner::unknown; });
}

// A range that has an owner keeps it: memory that becomes writable again is attributed to the stack that first made it
// writable.
void RangeMap::protect(const RangeEvent& event) {
    for (const RangePiece& piece : pieces_.within(event.range)) {
        RangeUse use = piece.use;
        use.access = event.access;
        const bool is_free = use.owner == RangeOwner::none || use.owner == RangeOwner::unknown;
        if (is_free && is_writable_memory(use)) use = used(use.kind, use.access, event.stack);
        pieces_.put(piece.range, use);
    }
}

void RangeMap::attach(const RangeEvent& event) {
    if (attached_.size() < kMostAttached) attached_[event.range.begin] = {.access = event.access, .stack = event.stack};
}

// Removes only pieces that still belong to the segment, because other mappings may have replaced parts of it.
void RangeMap::detach(const RangeEvent& event) {
    const auto found = attached_.find(event.range.begin);
    if (found == attached_.end()) return;
    const AddressRange whole{event.range.begin, event.range.begin + found->second.bytes};
    Taken taken{.call = event.call, .time_ns = event.time_ns, .range = event.range};
    for (const RangePiece& piece : pieces_.within(whole)) {
        if (piece.use.kind != RangeKind::attached) continue;
        pieces_.take(piece.range);
        taken.pieces.push_back(piece);
    }
    if (taken_.size() >= kMostThreads && !taken_.contains(event.thread)) taken_.clear();
    taken_[event.thread] = std::move(taken);
}

void RangeMap::inherit() {
    taken_.clear();
    troughs_.clear();
    arena_sized_.clear();
    pieces_.disown();
    for (auto& [address, attached] : attached_) attached.stack = 0;
}

bool RangeMap::has_calls_in_flight(std::uint64_t since_ns) const {
    return std::any_of(taken_.begin(), taken_.end(), [&](const auto& taken) {
        return taken.second.call == MS_RANGE_MOVE_BEGINS || taken.second.time_ns >= since_ns;
    });
}

namespace {

// A shared mapping of a file may be in a tmpfs. /proc/PID/maps does not show that, but the event of the mapping call
// did.
bool are_the_same(const RangeUse& known, const FoundRange& found) {
    return known.kind == found.kind || (known.kind == RangeKind::shared && found.shared_file);
}

// Uses the current access. If memory has become writable without an event, its owner is `owner`.
RangeUse still_there(const RangeUse& known, const FoundRange& found, RangeOwner owner) {
    RangeUse use = known;
    use.access = found.access;
    if (use.owner == RangeOwner::none && is_writable_memory(use)) use.owner = owner;
    return use;
}

}  // namespace

void RangeMap::reconcile(std::span<const FoundRange> found, RangeOwner owner) {
    RangePieces now(pieces_.most());
    // Ranges that are too small to be sent are ignored here, too.
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
    std::erase_if(attached_, [](const auto& at) { return at.second.bytes == 0; });  // detached again
}

}  // namespace memscope
